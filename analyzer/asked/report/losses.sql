-- Events recorded, lost, excluded and missing, by probe.
SELECT probe, sum(written)::BIGINT, sum(lost)::BIGINT, sum(excluded)::BIGINT,
    sum(missing)::BIGINT
FROM loss
GROUP BY probe
ORDER BY probe
