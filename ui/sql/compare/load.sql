-- How many requests there are, and how slow. $3: shares of requests, 0 to 1.
SELECT count(*), coalesce(sum(dur), 0)::BIGINT, max(dur), quantile_disc(dur, $3::DOUBLE[])
FROM digest.chosen($1, $2)
