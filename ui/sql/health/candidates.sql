SELECT comm, count(*) AS n
FROM digest.request
WHERE role = 'unknown'
GROUP BY comm
ORDER BY n DESC, comm
LIMIT 5
