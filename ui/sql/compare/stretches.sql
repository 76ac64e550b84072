-- The requests cut into $3 stretches of as many each, one after the other: how many each has.
WITH placed AS (
    SELECT ntile($3) OVER (ORDER BY ts, request_id) - 1 AS stretch FROM digest.chosen($1, $2)
)
SELECT count(*) FROM placed GROUP BY stretch ORDER BY stretch
