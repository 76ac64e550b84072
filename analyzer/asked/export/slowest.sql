-- Requests $1 with the total time of their inversions, the slowest first.
SELECT request_id, tid, ts, dur,
    (SELECT coalesce(sum(inversion.dur), 0)::BIGINT FROM inversion
        WHERE inversion.request_id = request.request_id)
FROM request JOIN task USING (utid)
WHERE request_id IN (SELECT unnest($1::INTEGER[]))
ORDER BY dur DESC, request_id
