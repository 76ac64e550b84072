-- The $5 slowest finished requests that start in [$1, $2): only of foreground threads unless $3; only
-- the ids in $4, the kinds that match a glob in $6, and the threads whose name matches a glob in $7
-- or whose tid or pid is in it, unless these are empty.
SELECT request_id, ts, ts + dur
FROM request JOIN task USING (utid)
WHERE dur IS NOT NULL
  AND ts >= $1 AND ts < $2
  AND ($3 OR role = 'foreground')
  AND (len($4::INTEGER[]) = 0 OR list_contains($4::INTEGER[], request_id))
  AND (len($6::VARCHAR[]) = 0 OR EXISTS (
    SELECT 1 FROM unnest($6::VARCHAR[]) AS wanted (kind) WHERE name GLOB kind))
  AND (len($7::VARCHAR[]) = 0 OR EXISTS (
    SELECT 1 FROM unnest($7::VARCHAR[]) AS wanted (who)
    WHERE comm GLOB who OR tid::VARCHAR = who OR pid::VARCHAR = who))
ORDER BY dur DESC, request_id
LIMIT $5
