-- Edges of the wait-for graph of the chosen requests, the widest first. $3: shortest request in
-- ns; $4: only requests with inversions of this pattern, NULL for all.
SELECT level, source, target, sum(dur)::BIGINT AS dur
FROM digest.hops($1, $2, $3, $4)
GROUP BY level, source, target
ORDER BY dur DESC, level, source, target
