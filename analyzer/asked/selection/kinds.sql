-- Kinds of the finished requests, the most frequent first.
SELECT name
FROM request
WHERE dur IS NOT NULL
GROUP BY name
ORDER BY count(*) DESC, name
