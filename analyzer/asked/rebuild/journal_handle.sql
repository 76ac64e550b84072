-- Journal handles as the probe recorded them.
SELECT ts, ts + dur AS end_ns, held_dur AS held_ns, longest_dur AS longest_ns, dev,
    transaction_id AS transaction, utid AS tid, n_handles
FROM journal_handle
