SELECT probe, sum(lost + missing)::BIGINT AS n, sum(lost + missing) / sum(lost + written)
FROM loss
GROUP BY probe
HAVING n > 0
ORDER BY n DESC, probe
