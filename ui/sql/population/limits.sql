-- $3: shares of requests, 0 to 1. The limit of a share is a latency that occurred.
SELECT quantile_disc(dur, $3::DOUBLE[])
FROM digest.chosen($1, $2)
