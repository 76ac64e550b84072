-- What delayed the slow requests of some hosts most, by kind.
WITH found AS (
    SELECT host, kind, reason, culprit, sum(slow_blocked_ns) AS slow_blocked_ns
    FROM tail JOIN one USING (summary_id)
    WHERE part = 'culprit' AND list_contains($1::VARCHAR[], host)
    GROUP BY host, kind, reason, culprit
    HAVING sum(slow_blocked_ns) > 0
)
SELECT host, kind, first(reason || ' by ' || culprit ORDER BY slow_blocked_ns DESC, reason, culprit)
FROM found
GROUP BY host, kind
