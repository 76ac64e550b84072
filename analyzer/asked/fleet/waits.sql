-- Where outermost foreground requests spent their time.
SELECT reason, sum(n)::BIGINT AS n, sum(blocked_ns)::BIGINT AS blocked_ns,
    sum(slow_blocked_ns)::BIGINT AS slow_blocked_ns
FROM tail
WHERE part = 'wait' AND is_outermost
GROUP BY reason
ORDER BY blocked_ns DESC, reason
