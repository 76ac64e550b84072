-- Edges of critical paths in order of their keys, a parent before its children; -1 for none.
-- waker_utid: only where a task ended the wait and so did the work that was waited for.
SELECT edge_id, coalesce(parent_edge_id, -1) AS parent_edge_id, edge.ts, reason,
    if(io_id IS NULL, coalesce(waker_utid, -1), -1) AS waker_utid,
    coalesce(waker.role = 'background', false) AS is_background,
    io_id IS NULL AND coalesce(waker.is_kthread, false) AS is_by_helper
FROM edge
LEFT JOIN task AS waker ON waker.utid = waker_utid
ORDER BY edge_id
