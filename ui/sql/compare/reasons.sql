-- What requests waited for, by stretch ($3 stretches).
WITH placed AS (
    SELECT request_id, ntile($3) OVER (ORDER BY ts, request_id) - 1 AS stretch
    FROM digest.chosen($1, $2)
)
SELECT reason, stretch, count(*), sum(request_wait.dur)::BIGINT
FROM request_wait
JOIN placed USING (request_id)
GROUP BY reason, stretch
ORDER BY reason, stretch
