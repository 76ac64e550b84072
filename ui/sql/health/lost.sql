SELECT probe, sum(lost)::BIGINT AS n, sum(lost) / sum(lost + written)
FROM loss
GROUP BY probe
HAVING n > 0
ORDER BY n DESC, probe
