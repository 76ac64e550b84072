-- Number and latencies of finished requests by name and role.
SELECT request.name, role, count(*), sum(dur)::BIGINT, max(dur),
    [quantile_disc(dur, 0.5), quantile_disc(dur, 0.99), quantile_disc(dur, 0.999)]
FROM request JOIN task USING (utid)
WHERE dur IS NOT NULL
GROUP BY ALL
