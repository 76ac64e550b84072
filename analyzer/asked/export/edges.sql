-- Edges of the critical paths of requests $1.
SELECT edge_id, request_id, parent_edge_id, edge.ts, dur, sleep_id, waiter_utid, reason,
    waker_utid, waker.comm, waker.role, io_id
FROM edge LEFT JOIN task AS waker ON waker.utid = waker_utid
WHERE list_contains($1::INTEGER[], request_id)
ORDER BY edge_id
