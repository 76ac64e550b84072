-- Events that were written, lost and left out, by probe.
SELECT probe, sum(written)::BIGINT, sum(lost)::BIGINT, sum(excluded)::BIGINT
FROM loss
GROUP BY probe
ORDER BY probe
