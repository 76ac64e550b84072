-- Journal commits that overlap [$1, $2). Of an XFS checkpoint: what workers did.
SELECT dev, ts, dur, transaction_id, comm, locking_ns, flushing_ns, logging_ns, n_handles,
    n_blocks, n_blocks_logged
FROM journal_commit JOIN task USING (utid)
WHERE task.role = 'kernel' AND NOT starts_with(comm, 'xfsaild/') AND ts < $2 AND (dur IS NULL OR ts + dur >= $1)
ORDER BY dev, ts
