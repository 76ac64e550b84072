-- Finished foreground requests, with the time on a CPU of their own thread, which stays.
SELECT request_id, name, request.utid, ts, dur, coalesce(cpu_dur, 0) AS own_ns
FROM request
JOIN task USING (utid)
WHERE task.role = 'foreground'
  AND dur IS NOT NULL
ORDER BY request_id
