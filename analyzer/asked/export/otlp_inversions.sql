-- Inversions of requests $1 with the threads of their culprits.
SELECT inversion_id, request_id, kind, culprit, comm, tid, pid, inversion.role, ts, inversion.dur,
    chain, confidence
FROM inversion JOIN task ON task.utid = culprit_utid
WHERE list_contains($1::INTEGER[], request_id)
ORDER BY inversion_id
