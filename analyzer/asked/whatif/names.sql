-- The names of finished foreground requests, in order.
SELECT DISTINCT name
FROM request
JOIN task USING (utid)
WHERE task.role = 'foreground'
  AND dur IS NOT NULL
ORDER BY name
