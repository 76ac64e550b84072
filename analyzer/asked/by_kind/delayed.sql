-- Finished requests with inversions by name and role: how many, the time of the inversions, and the
-- requests' own time.
WITH held AS (
    SELECT request_id, sum(dur) AS inverted
    FROM inversion
    GROUP BY request_id
)
SELECT name, role, count(*), sum(inverted)::BIGINT, sum(dur)::BIGINT
FROM request JOIN task USING (utid) JOIN held USING (request_id)
WHERE dur IS NOT NULL
GROUP BY ALL
