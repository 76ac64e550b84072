-- The slowest foreground request.
SELECT request_id
FROM request
JOIN task USING (utid)
WHERE role = 'foreground'
  AND dur IS NOT NULL
ORDER BY dur DESC, request_id
LIMIT 1
