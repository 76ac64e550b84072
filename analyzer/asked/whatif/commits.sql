-- Commits of journals with the threads whose handles joined them.
SELECT journal_commit.utid AS journal_utid, journal_commit.ts,
    journal_commit.ts + journal_commit.dur AS end_ns, journal_commit.dev, handle.utid, task.role = 'kernel' AS is_kernel
FROM journal_commit
JOIN journal_handle AS handle USING (dev, transaction_id)
JOIN task ON task.utid = handle.utid
WHERE journal_commit.dur IS NOT NULL
ORDER BY journal_commit.ts
