-- What delayed outermost foreground requests, on how many hosts, and on which most; first what
-- delayed the slow ones most.
WITH found AS (
    SELECT reason, culprit, culprit_role, host, sum(n) AS n, sum(blocked_ns) AS blocked_ns,
        sum(slow_blocked_ns) AS slow_blocked_ns
    FROM tail JOIN one USING (summary_id)
    WHERE part = 'culprit' AND is_outermost
    GROUP BY reason, culprit, culprit_role, host
)
SELECT reason, culprit, culprit_role, count(*) AS n_hosts, sum(n)::BIGINT AS n,
    sum(blocked_ns)::BIGINT AS blocked_ns, sum(slow_blocked_ns)::BIGINT AS slow_blocked_ns,
    first(host ORDER BY blocked_ns DESC, host) AS worst_host
FROM found
GROUP BY reason, culprit, culprit_role
ORDER BY slow_blocked_ns DESC, blocked_ns DESC, reason, culprit, culprit_role
