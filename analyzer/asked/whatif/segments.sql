-- Segments of the critical paths of finished foreground requests; -1 for none. cpu: the one that a
-- task waited for.
WITH chosen AS (
    SELECT segment.*
    FROM segment
    JOIN request USING (request_id)
    JOIN task ON task.utid = request.utid
    WHERE task.role = 'foreground'
      AND request.dur IS NOT NULL
), got AS (
    SELECT sleep.utid, sleep.run_ns, any_value(sleep.cpu) AS cpu
    FROM sleep
    WHERE (sleep.utid, sleep.run_ns) IN (SELECT (utid, ts + dur) FROM chosen WHERE kind = 'runqueue')
    GROUP BY ALL
)
SELECT chosen.request_id, chosen.ts, chosen.dur,
    coalesce(chosen.utid, -1) AS utid,
    coalesce(chosen.io_id, 0) AS io_id,
    coalesce(chosen.edge_id, -1) AS edge_id,
    if(chosen.kind = 'runqueue', coalesce(got.cpu, -1), -1) AS cpu,
    chosen.kind IN ('queue', 'device') AS is_service,
    chosen.kind IN ('cpu', 'unknown') AS is_own_time,
    chosen.kind = 'runqueue' AS is_runqueue
FROM chosen
LEFT JOIN got ON got.utid = chosen.utid AND got.run_ns = chosen.ts + chosen.dur
ORDER BY chosen.segment_id
