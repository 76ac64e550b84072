SELECT chosen.request_id, chosen.name, chosen.comm, chosen.ts - $3, chosen.dur
FROM digest.chosen($1, $2) AS chosen
ORDER BY chosen.dur DESC, chosen.request_id
LIMIT 20
