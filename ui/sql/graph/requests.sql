-- Requests behind some edges of the wait-for graph, those with the most time in them first, and how
-- many there are. $1 to $4 as in edges.sql; $5: level of these edges; $6 and $7: their sources and
-- targets; $8: the recording's beginning. Of a part, at most one edge is from that level on.
WITH asked AS (
    SELECT
        TRY_CAST(unnest($6::VARCHAR[]) AS digest.node) AS source,
        TRY_CAST(unnest($7::VARCHAR[]) AS digest.node) AS target
), hop AS (
    SELECT
        request_id,
        CASE level WHEN $5 + 1 THEN above WHEN $5 THEN who ELSE node END AS source,
        CASE level WHEN $5 + 1 THEN who WHEN $5 THEN node ELSE ran END AS target,
        dur
    FROM digest.parts($1, $2, $3, $4)
    WHERE level BETWEEN $5 - 1 AND $5 + 1
), behind AS MATERIALIZED (
    SELECT request_id, sum(dur)::BIGINT AS dur
    FROM hop
    SEMI JOIN asked USING (source, target)
    GROUP BY request_id
), longest AS (
    SELECT request_id, dur
    FROM behind
    ORDER BY dur DESC, request_id
    LIMIT 200
)
SELECT
    request.request_id, request.ts - $8, request.name, request.comm, request.dur, longest.dur,
    (SELECT count(*) FROM behind)
FROM longest
JOIN digest.request AS request USING (request_id)
ORDER BY longest.dur DESC, request.request_id
