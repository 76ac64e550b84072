-- Foreground requests of each host by kind: in all, and the slow ones.
SELECT host, kind, sum(n)::BIGINT AS n, sum(n_slow)::BIGINT AS n_slow
FROM tail JOIN one USING (summary_id)
WHERE part = 'request'
GROUP BY host, kind
ORDER BY host, kind
