-- Where outermost foreground requests spent their time.
SELECT reason, sum(request_wait.dur)::BIGINT AS dur_ns
FROM request_wait
JOIN request USING (request_id)
JOIN task USING (utid)
LEFT JOIN request AS parent ON parent.request_id = request.parent_request_id
WHERE task.role = 'foreground' AND request.dur IS NOT NULL
    AND (parent.dur IS NULL OR parent.name = request.name)
GROUP BY reason
ORDER BY dur_ns DESC, reason
