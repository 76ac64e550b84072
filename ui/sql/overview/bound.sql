-- $3: quantile, 0 to 1, $4: its bound in ns.
SELECT quantile_disc(dur, $3::DOUBLE), count(*), count(*) FILTER (dur > $4)
FROM digest.chosen($1, $2)
