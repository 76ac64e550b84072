-- Journal commits as the probe recorded them.
SELECT ts, coalesce(locking_ns, 0) AS locking_ns, coalesce(flushing_ns, 0) AS flushing_ns,
    coalesce(logging_ns, 0) AS logging_ns, coalesce(ts + dur, 0) AS end_ns, dev,
    transaction_id AS transaction, utid AS tid, n_handles, n_blocks, n_blocks_logged
FROM journal_commit
