-- The $5 slowest finished requests that start in [$1, $2): only of foreground threads unless $3; only
-- the ids in $4 unless that is empty.
SELECT request_id, ts, ts + dur
FROM request JOIN task USING (utid)
WHERE dur IS NOT NULL
  AND ts >= $1 AND ts < $2
  AND ($3 OR role = 'foreground')
  AND (len($4::INTEGER[]) = 0 OR list_contains($4::INTEGER[], request_id))
ORDER BY dur DESC, request_id
LIMIT $5
