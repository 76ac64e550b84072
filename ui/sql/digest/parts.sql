-- The critical paths of the chosen requests in parts, each a wait or a segment. role_ to pattern_: as
-- of digest.picked. A part is up to three edges of the wait-for graph: above → who in
-- the column before level, who → node from level on, node → ran in the column after it.
--   request_id  the request
--   level       column of who: even
--   above       the wait that who ended, or was the io of; NULL of a request's own thread
--   who         who waited or ran
--   node        what it waited for, NULL if it ran, or if its own time is told by the wait above
--   ran         the thread that had the CPU meanwhile, NULL if that is not known
--   dur         ns
-- Keys are of type digest.node: with texts, joins of millions of rows take twice as long. Segments of
-- ios are apart from those of threads, for a join of all with both waits and ios takes twice as long.
CREATE MACRO digest.parts(role_, kind_, least_, pattern_) AS TABLE
WITH actor AS MATERIALIZED (
    SELECT utid, task::digest.node AS task, ios::digest.node AS ios FROM digest.actor
), waited AS MATERIALIZED (
    SELECT kind, dev, node::digest.node AS node FROM digest.waited
), picked AS MATERIALIZED (
    SELECT picked.request_id, requester.node::digest.node AS node
    FROM digest.picked(role_, kind_, least_, pattern_) AS picked
    JOIN digest.requester AS requester USING (utid, name)
), wait AS MATERIALIZED (
    SELECT
        edge.edge_id, edge.parent_edge_id, edge.request_id, edge.waiter_utid, edge.dur,
        2 * edge.depth::TINYINT AS level,
        waited.node,
        if(edge.depth = 0, picked.node, actor.task) AS waiter
    FROM edge
    JOIN picked USING (request_id)
    JOIN actor ON actor.utid = edge.waiter_utid
    JOIN waited ON waited.kind = edge.reason AND waited.dev IS NULL
), below AS (
    -- A segment of the waiter itself below its wait is one that no thread's work ended: is_over.
    SELECT
        segment.request_id, segment.kind, segment.ran_utid, segment.dur,
        2 * segment.depth::TINYINT AS level,
        wait.node AS above,
        coalesce(actor.task, 'task:unknown:?'::digest.node) AS who,
        waited.node,
        coalesce(segment.utid = wait.waiter_utid, false) AS is_over
    FROM segment
    JOIN wait USING (edge_id)
    JOIN waited ON waited.kind = segment.kind AND waited.dev IS NULL
    LEFT JOIN actor ON actor.utid = segment.utid
    WHERE segment.depth > 0
      AND (segment.io_id IS NULL OR segment.kind = 'interrupt')
)
SELECT request_id, level, NULL::digest.node AS above, waiter AS who, node,
    NULL::digest.node AS ran, dur
FROM wait
WHERE parent_edge_id IS NULL
UNION ALL
SELECT wait.request_id, wait.level, parent.node, wait.waiter, wait.node, NULL, wait.dur
FROM wait
JOIN wait AS parent ON parent.edge_id = wait.parent_edge_id
UNION ALL
SELECT segment.request_id, 0, NULL, picked.node, waited.node, actor.task, segment.dur
FROM segment
JOIN picked USING (request_id)
JOIN waited ON waited.kind = segment.kind AND waited.dev IS NULL
LEFT JOIN actor ON actor.utid = segment.ran_utid
WHERE segment.depth = 0
  AND segment.kind <> 'cpu'
UNION ALL
SELECT
    below.request_id, below.level, below.above,
    if(below.is_over, 'task:unknown:?'::digest.node, below.who),
    if(below.is_over OR below.kind = 'cpu', NULL, below.node),
    if(below.is_over, NULL, actor.task),
    below.dur
FROM below
LEFT JOIN actor ON actor.utid = below.ran_utid
WHERE NOT (below.is_over AND below.node = below.above)
UNION ALL
SELECT
    segment.request_id, 2 * segment.depth::TINYINT, wait.node,
    coalesce(actor.ios, 'io:unknown:?'::digest.node), waited.node, NULL, segment.dur
FROM segment
JOIN wait USING (edge_id)
LEFT JOIN io ON io.io_id = segment.io_id
LEFT JOIN actor ON actor.utid = io.submitter_utid
JOIN waited ON waited.kind = segment.kind AND waited.dev IS NOT DISTINCT FROM io.dev
WHERE segment.io_id IS NOT NULL AND segment.kind <> 'interrupt'
