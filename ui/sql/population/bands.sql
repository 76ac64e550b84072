-- $3: where bands end. A request at an end belongs to the band that ends there.
WITH placed AS (
    SELECT request_id, dur, len(list_filter($3::BIGINT[], lambda limit_: limit_ < dur)) AS band
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
SELECT
    bands.band, n, shortest, longest, slowest_id,
    (SELECT min(request_id) FROM placed WHERE placed.band = bands.band AND dur = middle)
FROM bands
ORDER BY bands.band
