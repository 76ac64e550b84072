-- The critical paths of the chosen requests as flows of time through the columns of the wait-for
-- graph. Even columns hold who: the requests in column 0, then the threads, or the ios of a thread,
-- that a wait was for. Odd columns hold what was waited for. least_: shortest request in ns.
-- pattern_: only requests with inversions of this pattern, NULL for all.
--
-- The time of a wait goes from who waited to what was waited for, and from there to whoever ended
-- it. So of each node at most as much goes out as came in; the rest ended there: the thread ran, or
-- nothing more is known. Time in which a request's own thread ran is in no row.
--   request_id  the request
--   level       column of the source; the target is in the next one
--   source      key of a node: request:ROLE:NAME, task:ROLE:NAME, io:ROLE:NAME (ios of a thread) or
--               wait:REASON:DEVICE (a reason of waits, or a stage of ios, which have a device)
--   target      key of a node
--   dur         ns
CREATE MACRO digest.hops(role_, kind_, least_, pattern_) AS TABLE
WITH picked AS MATERIALIZED (
    SELECT request_id, 'request:' || role || ':' || name || ' by ' || requester AS node
    FROM digest.chosen(role_, kind_)
    JOIN digest.actor USING (utid)
    WHERE dur >= least_
      AND (
          pattern_ IS NULL
          OR request_id IN (
              SELECT request_id FROM digest.request_pattern WHERE pattern_id = pattern_
          )
      )
), wait AS MATERIALIZED (
    SELECT
        edge.edge_id, edge.parent_edge_id, edge.request_id, edge.waiter_utid, edge.dur, edge.reason,
        2 * edge.depth::TINYINT AS level,
        'wait:' || edge.reason || ':' AS node,
        if(edge.depth = 0, picked.node, actor.task) AS waiter
    FROM edge
    JOIN picked USING (request_id)
    JOIN digest.actor AS actor ON actor.utid = edge.waiter_utid
), piece AS MATERIALIZED (
    -- Segments that are not the time of the request's own thread on a CPU. A segment of the waiter
    -- itself below its wait is one that no thread's work ended.
    SELECT
        segment.request_id, segment.kind, segment.dur, segment.ran_utid,
        wait.reason, wait.node AS wait_node,
        2 * segment.depth::TINYINT AS level,
        segment.io_id IS NOT NULL AS is_io,
        segment.utid IS NOT NULL AND segment.utid IS NOT DISTINCT FROM wait.waiter_utid AS is_over,
        CASE
            WHEN segment.depth = 0 THEN picked.node
            WHEN segment.io_id IS NOT NULL THEN coalesce(submitter.ios, 'io:unknown:?')
            ELSE coalesce(actor.task, 'task:unknown:?')
        END AS who,
        'wait:' || segment.kind || ':' || CASE
            WHEN segment.io_id IS NULL THEN ''
            ELSE coalesce(device.name, (io.dev >> 20) || ':' || (io.dev & 1048575), '')
        END AS node
    FROM segment
    JOIN picked USING (request_id)
    LEFT JOIN wait USING (edge_id)
    LEFT JOIN io ON io.io_id = segment.io_id
    LEFT JOIN device ON device.dev = io.dev
    LEFT JOIN digest.actor AS submitter ON submitter.utid = io.submitter_utid
    LEFT JOIN digest.actor AS actor ON actor.utid = segment.utid
    WHERE segment.depth > 0
       OR segment.kind <> 'cpu'
)
SELECT request_id, level, waiter AS source, node AS target, dur
FROM wait
UNION ALL
SELECT wait.request_id, wait.level - 1, parent.node, wait.waiter, wait.dur
FROM wait
JOIN wait AS parent ON parent.edge_id = wait.parent_edge_id
UNION ALL
SELECT request_id, level - 1, wait_node, if(is_over, 'task:unknown:?', who), dur
FROM piece
WHERE level > 0
  AND NOT (is_over AND kind = reason)
UNION ALL
SELECT request_id, level, who, node, dur
FROM piece
WHERE kind <> 'cpu'
  AND NOT is_over
UNION ALL
SELECT piece.request_id, piece.level + 1, piece.node, actor.task, piece.dur
FROM piece
JOIN digest.actor AS actor ON actor.utid = piece.ran_utid
WHERE piece.kind = 'runqueue'
  AND NOT piece.is_over
