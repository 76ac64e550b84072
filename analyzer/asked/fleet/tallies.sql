-- Waits, culprits and patterns of foreground requests by kind.
SELECT part, kind, culprit_role,
    CASE part WHEN 'wait' THEN reason WHEN 'culprit' THEN reason || ' by ' || culprit
        ELSE pattern || ': ' || reason || ' by ' || culprit END AS what,
    sum(n)::BIGINT AS n, sum(blocked_ns)::BIGINT AS blocked_ns
FROM tail
WHERE part <> 'request'
GROUP BY part, kind, culprit_role, what
ORDER BY part, kind, culprit_role, what
