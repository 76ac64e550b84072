-- The $1 costliest patterns of inversion by their number in the report, which is their id.
SELECT pattern_id AS rank, kind, culprit
FROM digest.pattern
ORDER BY rank
LIMIT $1
