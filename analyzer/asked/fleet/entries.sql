-- What each request adds to the rows of a summary. All parts have the bucket of the request's own
-- latency, so that every part can be asked about the slowest requests of a fleet. Nothing is NULL, so
-- that groups merge.
CREATE OR REPLACE TEMP TABLE entry AS
WITH bound AS (
    SELECT unnest($2::BIGINT[]) AS upper, unnest($3::INTEGER[]) AS bucket
), chosen AS (
    SELECT
        request.request_id,
        request.name AS kind,
        task.role,
        parent.dur IS NULL OR parent.name = request.name AS is_outermost,
        request.dur,
        bound.bucket
    FROM request
    ASOF JOIN bound ON request.dur <= bound.upper
    JOIN task USING (utid)
    LEFT JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE request.dur IS NOT NULL
), held AS (
    SELECT request_id, sum(dur)::BIGINT AS blocked
    FROM inversion
    GROUP BY request_id
), waited AS (
    SELECT request_id, reason, sum(dur)::BIGINT AS blocked
    FROM request_wait
    GROUP BY request_id, reason
), culprit AS (
    -- However many culprits a recording has, its summary stays small: the least have one name.
    SELECT kind, culprit, role,
        row_number() OVER (ORDER BY sum(dur) DESC, kind, culprit, role) <= $1 AS is_named
    FROM inversion
    GROUP BY kind, culprit, role
), by_culprit AS (
    -- Not a sum over patterns: one culprit may delay a request in several ways.
    SELECT
        inversion.request_id,
        if(is_named, inversion.kind, 'other') AS reason,
        if(is_named, inversion.culprit, 'other') AS culprit,
        if(is_named, inversion.role, 'unknown') AS culprit_role,
        sum(inversion.dur)::BIGINT AS blocked
    FROM inversion
    JOIN culprit USING (kind, culprit, role)
    GROUP BY ALL
), pattern AS (
    SELECT kind, culprit, role, pattern,
        row_number() OVER (ORDER BY sum(dur) DESC, pattern, kind, culprit, role) <= $1 AS is_named
    FROM inversion
    GROUP BY kind, culprit, role, pattern
), by_pattern AS (
    SELECT
        inversion.request_id,
        if(is_named, inversion.kind, 'other') AS reason,
        if(is_named, inversion.culprit, 'other') AS culprit,
        if(is_named, inversion.role, 'unknown') AS culprit_role,
        if(is_named, inversion.pattern, 'other') AS pattern,
        sum(inversion.dur)::BIGINT AS blocked
    FROM inversion
    JOIN pattern USING (kind, culprit, role, pattern)
    GROUP BY ALL
), parts AS (
    SELECT 0 AS part_order, 'request' AS part, request_id, kind, role, is_outermost, '' AS reason, '' AS culprit,
        '' AS culprit_role, '' AS pattern, bucket, dur, coalesce(blocked, 0) AS blocked,
        blocked IS NOT NULL AS is_blocked, dur AS longest
    FROM chosen LEFT JOIN held USING (request_id)
    UNION ALL
    SELECT 1, 'wait', request_id, kind, role, is_outermost, reason, '', '', '', bucket, dur, blocked, true,
        blocked
    FROM chosen JOIN waited USING (request_id)
    UNION ALL
    SELECT 2, 'culprit', request_id, kind, role, is_outermost, reason, culprit, culprit_role, '', bucket, dur,
        blocked, true, blocked
    FROM chosen JOIN by_culprit USING (request_id)
    UNION ALL
    SELECT 3, 'pattern', request_id, kind, role, is_outermost, reason, culprit, culprit_role, pattern, bucket,
        dur, blocked, true, blocked
    FROM chosen JOIN by_pattern USING (request_id)
)
FROM parts
