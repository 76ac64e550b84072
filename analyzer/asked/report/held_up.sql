-- Inversions of request $1, the longest first.
SELECT dur, kind, comm, n_ios_ahead, bytes_ahead, n_ios_all, bytes_all, chain
FROM inversion
JOIN task ON utid = culprit_utid
WHERE request_id = $1
ORDER BY dur DESC, inversion_id
