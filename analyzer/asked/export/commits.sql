-- Journal commits that overlap [$1, $2).
SELECT dev, ts, dur, transaction_id, comm, locking_ns, flushing_ns, logging_ns, n_handles,
    n_blocks, n_blocks_logged
FROM journal_commit JOIN task USING (utid)
WHERE ts < $2 AND (dur IS NULL OR ts + dur >= $1)
ORDER BY dev, ts
