-- What foreground requests of a kind ("" for outermost ones of any kind) waited for, whose buckets lie
-- between two.
SELECT part,
    CASE part WHEN 'request' THEN '' WHEN 'wait' THEN reason
        WHEN 'culprit' THEN reason || ' by ' || culprit
        ELSE pattern || ': ' || reason || ' by ' || culprit END AS what,
    sum(n)::BIGINT, sum(if(part = 'request', dur_ns, blocked_ns))::BIGINT
FROM read_parquet($1, hive_partitioning = false)
WHERE role = 'foreground' AND if($2 = '', is_outermost, kind = $2) AND bucket BETWEEN $3 AND $4
GROUP BY part, what
