-- Events recorded, lost and excluded, by probe.
SELECT probe, sum(written)::BIGINT, sum(lost)::BIGINT, sum(excluded)::BIGINT
FROM loss
GROUP BY probe
ORDER BY probe
