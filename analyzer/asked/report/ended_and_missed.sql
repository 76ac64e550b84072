-- Inversions that the patched kernel cut short, and those it did nothing about, by the mechanism of the
-- wait. Without a loan or a promotion there is no row: the kernel may be another, or its inheritance off.
--
-- An inversion is known by its first segment. It was cut short when the segment's io was promoted, or
-- when the last wait for a task on the way to it lent. So one behind three tasks of which the kernel
-- boosted two is missed. A boost that left nothing to be blamed for counts as well, if it was for an io in
-- the queue, or for a task that is not the kernel's: the journal's thread has a loan of each critical fsync,
-- whether it has other work or not.
WITH RECURSIVE wait AS (
    SELECT edge_id, parent_edge_id, request_id, sleep_id, reason,
        io_id IS NULL
            AND reason NOT IN ('admission_slot', 'admission_tag', 'dirty_throttle') AS is_for_a_task
    FROM edge
    WHERE EXISTS (FROM inheritance)
), nearest AS (
    SELECT edge_id, if(is_for_a_task, sleep_id, NULL) AS sleep_id, if(is_for_a_task, reason, NULL) AS reason
    FROM wait
    WHERE parent_edge_id IS NULL
    UNION ALL
    SELECT wait.edge_id, if(is_for_a_task, wait.sleep_id, nearest.sleep_id),
        if(is_for_a_task, wait.reason, nearest.reason)
    FROM nearest
    JOIN wait ON wait.parent_edge_id = nearest.edge_id
), lent AS (
    SELECT DISTINCT sleep_id FROM loan_wait
), promoted AS (
    SELECT DISTINCT io_id FROM inheritance WHERE kind = 'promotion' AND io_id IS NOT NULL
), found AS (
    SELECT
        inversion.request_id,
        CASE
            WHEN inversion.kind IN ('admission_slot', 'admission_tag') THEN 'slot'
            WHEN inversion.kind = 'flush' THEN 'device'
            WHEN inversion.kind = 'io_dependency' AND segment.kind = 'admission_slot' THEN 'slot'
            WHEN inversion.kind = 'io_dependency' AND segment.kind = 'admission_tag' THEN 'slot'
            WHEN inversion.kind = 'io_dependency' AND segment.io_id IS NOT NULL THEN segment.kind
            WHEN inversion.kind NOT IN ('lock', 'condition') THEN inversion.kind
            WHEN nearest.reason LIKE 'journal%' THEN 'journal'
            WHEN nearest.reason = 'futex' THEN 'futex'
            ELSE inversion.kind
        END AS mechanism,
        coalesce(segment.io_id::VARCHAR, 'sleep ' || nearest.sleep_id, 'at ' || inversion.ts) AS object,
        inversion.dur,
        promoted.io_id IS NOT NULL OR lent.sleep_id IS NOT NULL AS is_ended
    FROM inversion
    JOIN segment ON segment.request_id = inversion.request_id
        AND segment.ts = inversion.ts
        AND segment.dur > 0
    LEFT JOIN nearest USING (edge_id)
    LEFT JOIN lent USING (sleep_id)
    LEFT JOIN promoted ON promoted.io_id = segment.io_id
    -- A CPU limit and memory that is full are nothing that the kernel's inheritance is for.
    WHERE EXISTS (FROM inheritance) AND inversion.kind NOT IN ('cpu_max', 'refault', 'interrupt')
    UNION ALL
    SELECT edge.request_id,
        CASE
            WHEN mechanism IN ('commit', 'locked', 'shadow', 'handle') THEN 'journal'
            WHEN mechanism IN ('mutex', 'rwsem') THEN 'lock'
            WHEN mechanism = 'dirty' THEN 'dirty_throttle'
            ELSE mechanism
        END,
        'sleep ' || sleep_id, 0, true
    FROM loan_wait
    JOIN edge USING (sleep_id)
    JOIN task ON task.utid = helper_utid
    WHERE task.role IN ('background', 'unknown')
    UNION ALL
    SELECT segment.request_id, 'queue', io_id::VARCHAR, 0, true
    FROM promoted
    JOIN segment USING (io_id)
    WHERE segment.kind = 'queue'
), one AS (
    SELECT request_id, mechanism, object, bool_or(is_ended) AS is_ended, sum(found.dur)::BIGINT AS dur
    FROM found
    JOIN request USING (request_id)
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
    GROUP BY ALL
)
SELECT
    mechanism,
    count(*) FILTER (is_ended),
    count(DISTINCT request_id) FILTER (is_ended),
    coalesce(sum(dur) FILTER (is_ended), 0)::BIGINT,
    count(*) FILTER (NOT is_ended),
    count(DISTINCT request_id) FILTER (NOT is_ended),
    coalesce(sum(dur) FILTER (NOT is_ended), 0)::BIGINT,
    max(dur) FILTER (NOT is_ended)
FROM one
GROUP BY mechanism
ORDER BY count(*) FILTER (NOT is_ended) DESC, count(*) DESC, mechanism
