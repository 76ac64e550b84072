-- Whose sleep an edge is, and in which stack; in the order of path_rows.
SELECT edge.waiter_utid, waiter.tid, edge.waker_utid, waker.tid, stack.frames, edge.object
FROM edge
JOIN task AS waiter ON waiter.utid = edge.waiter_utid
LEFT JOIN task AS waker ON waker.utid = edge.waker_utid
LEFT JOIN sleep USING (sleep_id)
LEFT JOIN stack USING (stack_id)
WHERE edge.request_id = $1
ORDER BY edge.edge_id
