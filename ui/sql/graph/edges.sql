-- Edges of the wait-for graph of the chosen requests, the widest first. $3: shortest request in
-- ns; $4: only requests with inversions of this pattern, NULL for all. Parts are added up before each
-- is taken apart into its edges: there are millions of parts, but few that differ.
WITH part AS MATERIALIZED (
    SELECT level, above, who, node, ran, sum(dur) AS dur
    FROM digest.parts($1, $2, $3, $4)
    GROUP BY level, above, who, node, ran
), hop AS (
    SELECT level - 1 AS level, above AS source, who AS target, dur
    FROM part
    WHERE above IS NOT NULL
    UNION ALL
    SELECT level, who, node, dur
    FROM part
    WHERE node IS NOT NULL
    UNION ALL
    SELECT level + 1, node, ran, dur
    FROM part
    WHERE ran IS NOT NULL
)
SELECT level, source::VARCHAR AS source, target::VARCHAR AS target, sum(dur)::BIGINT AS dur
FROM hop
GROUP BY level, source, target
ORDER BY dur DESC, level, source, target
