-- The CPU that a task waited for in segments of the critical paths of finished foreground requests.
SELECT segment.segment_id, sleep.cpu
FROM segment
JOIN sleep ON sleep.utid = segment.utid AND sleep.run_ns = segment.ts + segment.dur
WHERE segment.kind = 'runqueue'
  AND sleep.cpu IS NOT NULL
  AND segment.request_id IN (
    SELECT request_id
    FROM request
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
      AND dur IS NOT NULL
  )
