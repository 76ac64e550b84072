-- Names of the threads with finished requests, those with most requests first.
SELECT comm
FROM request JOIN task USING (utid)
WHERE dur IS NOT NULL
GROUP BY comm
ORDER BY count(*) DESC, comm
