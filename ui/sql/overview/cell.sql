-- Requests of a cell of the heatmap, the slowest first. $6, $7: its steps; see heat.
SELECT request_id, ts - $3 AS offset_ns, dur, name, comm
FROM digest.chosen($1, $2)
WHERE (ts - $3) // $4 = $6
  AND floor(log2(greatest(dur, 1)) * $5)::INTEGER = $7
ORDER BY dur DESC, request_id
LIMIT 5
