-- Requests behind some edges of the wait-for graph, those with the most time in them first, and how
-- many there are. $1 to $4 as in edges.sql; $5 to $7: level, source and target of each of these
-- edges; $8: the recording's beginning.
WITH asked AS (
    SELECT unnest($5::INTEGER[]) AS level, unnest($6::VARCHAR[]) AS source,
        unnest($7::VARCHAR[]) AS target
), behind AS (
    SELECT request_id, sum(dur)::BIGINT AS dur
    FROM digest.hops($1, $2, $3, $4)
    SEMI JOIN asked USING (level, source, target)
    GROUP BY request_id
)
SELECT
    chosen.request_id, chosen.ts - $8, chosen.name, chosen.comm, chosen.dur, behind.dur,
    count(*) OVER ()
FROM behind
JOIN digest.chosen($1, $2) AS chosen USING (request_id)
ORDER BY behind.dur DESC, chosen.request_id
LIMIT 200
