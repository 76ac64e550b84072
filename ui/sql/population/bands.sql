-- $3: where bands end. A request at an end belongs to the band that ends there.
WITH placed AS MATERIALIZED (
    SELECT
        request_id,
        dur,
        len(list_filter($3::BIGINT[], lambda limit_: limit_ < dur))::TINYINT AS band
    FROM digest.chosen($1, $2)
), bands AS (
    SELECT
        band,
        count(*) AS n,
        min(dur) AS shortest,
        max(dur) AS longest,
        arg_max(request_id, dur) AS slowest_id,
        quantile_disc(dur, 0.5) AS middle
    FROM placed
    GROUP BY band
)
SELECT band, n, shortest, longest, slowest_id, min(placed.request_id)
FROM bands
JOIN placed USING (band)
WHERE placed.dur = bands.middle
GROUP BY ALL
ORDER BY band
