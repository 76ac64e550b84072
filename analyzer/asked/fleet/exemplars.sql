-- The worst foreground requests of each kind, with what delayed them most.
WITH worst AS (
    SELECT request_id, name AS kind, ts, dur,
        row_number() OVER (PARTITION BY name ORDER BY dur DESC, request_id) AS place
    FROM request
    JOIN task USING (utid)
    WHERE task.role = 'foreground' AND dur IS NOT NULL
), delayed AS (
    SELECT request_id, sum(dur)::BIGINT AS blocked_ns,
        first(culprit ORDER BY dur DESC, inversion_id) AS culprit,
        first(pattern ORDER BY dur DESC, inversion_id) AS pattern
    FROM inversion
    GROUP BY request_id
)
SELECT kind, request_id, ts, dur AS dur_ns, coalesce(blocked_ns, 0) AS blocked_ns,
    coalesce(culprit, '') AS culprit, coalesce(pattern, '') AS pattern
FROM worst
LEFT JOIN delayed USING (request_id)
WHERE place <= $1
ORDER BY kind, place
