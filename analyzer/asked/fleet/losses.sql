-- Events by probe: recorded, lost by the recorder, and missing from the spool.
SELECT probe, sum(written)::BIGINT, sum(lost)::BIGINT, sum(missing)::BIGINT
FROM loss
GROUP BY probe
ORDER BY probe
