-- The request that inversions held up longest.
SELECT request_id
FROM inversion
GROUP BY request_id
ORDER BY sum(dur) DESC, request_id
LIMIT 1
