-- Outermost foreground requests of each host in each group of hosts: in all, and the slow ones.
SELECT part_of, host, sum(n)::BIGINT AS n, sum(n_slow)::BIGINT AS n_slow
FROM tail JOIN one USING (summary_id)
WHERE part = 'request' AND is_outermost
GROUP BY part_of, host
ORDER BY part_of, host
