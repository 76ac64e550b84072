-- $3: shares of requests, 0 to 1. For each the latency and the part of requests above it.
WITH limit_ AS (
    SELECT unnest(quantile_disc(dur, $3::DOUBLE[])) AS dur, generate_subscripts($3, 1) AS position
    FROM digest.chosen($1, $2)
)
SELECT limit_.dur, (count(*) FILTER (chosen.dur > limit_.dur))::DOUBLE / count(*)
FROM limit_
CROSS JOIN digest.chosen($1, $2) AS chosen
GROUP BY limit_.position, limit_.dur
ORDER BY limit_.position
