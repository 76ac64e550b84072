-- Edges of critical paths in order of their keys, a parent before its children; -1 for none.
-- waker_utid: only where a task ended the wait and so did the work that was waited for. journal: the
-- thread whose commit was waited for. $1: reasons for which a peer is waited for; $2: those of waits
-- for a unit of something shared; $3: those of which culprits hold some; $4: those for data, whose
-- first read is shared if who has it locked reads it meanwhile.
WITH by_itself AS (
    SELECT edge_id, parent_edge_id, ts
    FROM edge SEMI JOIN (FROM io WHERE op = 'read') AS io USING (io_id)
    WHERE parent_edge_id IS NOT NULL
), reads AS (
    FROM by_itself
    UNION ALL
    -- A kernel thread ends the read.
    SELECT edge.edge_id, edge.parent_edge_id, edge.ts
    FROM edge SEMI JOIN (SELECT parent_edge_id AS edge_id FROM by_itself) AS read USING (edge_id)
    JOIN task ON task.utid = waker_utid AND task.is_kthread
    WHERE edge.parent_edge_id IS NOT NULL
), reading AS (
    SELECT arg_min(reads.edge_id, reads.ts) AS edge_id
    FROM reads JOIN edge AS locked ON locked.edge_id = reads.parent_edge_id
    WHERE locked.io_id IS NULL AND list_contains($4::VARCHAR[], locked.reason)
    GROUP BY locked.edge_id
)
SELECT edge_id, coalesce(parent_edge_id, -1) AS parent_edge_id, edge.ts,
    if(io_id IS NULL, coalesce(waker_utid, -1), -1) AS waker_utid,
    if(reason = 'journal_commit' AND io_id IS NULL, coalesce(waker_utid, -1), -1) AS journal,
    list_contains($1::VARCHAR[], reason) AND NOT coalesce(waker.role = 'background', false)
        AS is_served,
    list_contains($2::VARCHAR[], reason) OR reading.edge_id IS NOT NULL AS is_shared,
    list_contains($3::VARCHAR[], reason) AS is_pool,
    io_id IS NULL AND coalesce(waker.is_kthread, false) AS is_by_helper,
    is_passed
FROM edge
LEFT JOIN task AS waker ON waker.utid = waker_utid
LEFT JOIN reading USING (edge_id)
ORDER BY edge_id
