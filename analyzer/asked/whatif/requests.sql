-- Finished foreground requests, with the time on a CPU of their own thread, which stays. name_at: the
-- position of the name in order (whatif/names).
WITH chosen AS (
    SELECT request.*
    FROM request
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
      AND dur IS NOT NULL
)
SELECT request_id, name_at, utid, ts, dur, coalesce(cpu_dur, 0) AS own_ns
FROM chosen
JOIN (
    SELECT name, row_number() OVER (ORDER BY name) - 1 AS name_at
    FROM (SELECT DISTINCT name FROM chosen)
) USING (name)
ORDER BY request_id
