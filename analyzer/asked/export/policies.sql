-- Decisions of the patched kernel's policies in [$1, $2).
SELECT ts, kind, comm, {'decision': decision, 'io': io_id, 'waited_ns': dur}
FROM policy_decision LEFT JOIN task USING (utid)
WHERE ts >= $1 AND ts < $2
ORDER BY ts, policy_event_id
