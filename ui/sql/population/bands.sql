-- $3: where bands end. A request at an end belongs to the band that ends there. Of those as slow as
-- each other the first is named, in every server.
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
        quantile_disc(dur, 0.5) AS middle
    FROM placed
    GROUP BY band
)
SELECT
    band, n, shortest, longest,
    min(placed.request_id) FILTER (placed.dur = bands.longest),
    min(placed.request_id) FILTER (placed.dur = bands.middle)
FROM bands
JOIN placed USING (band)
WHERE placed.dur IN (bands.middle, bands.longest)
GROUP BY ALL
ORDER BY band
