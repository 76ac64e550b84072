-- Waits that threads of finished foreground requests ended: when, who waited, and the waiter's own
-- request and its edge, -1 for none. In order of thread and time.
WITH ended AS (
    SELECT sleep_id, utid, waker_utid, woken_ns
    FROM sleep
    WHERE waker_utid IN (
        SELECT utid
        FROM request
        JOIN task USING (utid)
        WHERE task.role = 'foreground'
          AND dur IS NOT NULL
    )
), own AS (
    SELECT sleep_id, min(edge_id) AS edge_id, arg_min(request_id, edge_id) AS request_id
    FROM edge
    WHERE depth = 0
      AND sleep_id IN (SELECT sleep_id FROM ended)
    GROUP BY sleep_id
)
SELECT ended.waker_utid, ended.woken_ns, ended.utid AS waiter_utid,
    coalesce(own.request_id, -1) AS of_request_id, coalesce(own.edge_id, -1) AS edge_id
FROM ended
LEFT JOIN own USING (sleep_id)
ORDER BY ended.waker_utid, ended.woken_ns
