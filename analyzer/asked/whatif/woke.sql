-- Waits that the threads of finished foreground requests ended meanwhile: the request, who waited,
-- and the waiter's own request and its edge, -1 for none.
WITH chosen AS (
    SELECT request_id, request.utid, request.ts, request.ts + dur AS end_ns
    FROM request
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
      AND dur IS NOT NULL
), ended AS (
    SELECT sleep_id, utid, waker_utid, woken_ns
    FROM sleep
    WHERE waker_utid IN (SELECT utid FROM chosen)
), own AS (
    SELECT sleep_id, min(edge_id) AS edge_id, arg_min(request_id, edge_id) AS request_id
    FROM edge
    WHERE depth = 0
      AND sleep_id IN (SELECT sleep_id FROM ended)
    GROUP BY sleep_id
)
SELECT chosen.request_id, ended.utid AS waiter_utid,
    coalesce(own.request_id, -1) AS of_request_id, coalesce(own.edge_id, -1) AS edge_id
FROM ended
ASOF JOIN chosen ON chosen.utid = ended.waker_utid AND chosen.ts <= ended.woken_ns
LEFT JOIN own USING (sleep_id)
WHERE ended.woken_ns <= chosen.end_ns
ORDER BY chosen.request_id, ended.woken_ns
