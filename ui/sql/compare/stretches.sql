-- Number of requests in each of $3 consecutive stretches of equal size.
WITH placed AS (
    SELECT ntile($3) OVER (ORDER BY ts, request_id) - 1 AS stretch FROM digest.chosen($1, $2)
)
SELECT count(*) FROM placed GROUP BY stretch ORDER BY stretch
