-- Blocks that handles added, as the probe recorded them.
SELECT ts, dev, transaction_id AS transaction, utid AS tid, n_blocks
FROM journal_handle
WHERE n_blocks IS NOT NULL
