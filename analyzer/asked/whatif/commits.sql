-- Commits of journals with the tasks whose handles joined them. Those of a loop device's workers are for all
-- whose data was written to the device since the commit before: see blame/journal/workers.py.
WITH worker AS (
    SELECT handle.dev, handle.transaction_id, handle.utid, served.dev AS loop_dev
    FROM journal_handle AS handle
    ASOF JOIN (FROM io_served WHERE layer = 'loop') AS served
        ON served.utid = handle.utid AND served.ts <= handle.ts + handle.dur
    WHERE served.ts + served.dur > handle.ts
), wrote AS (
    SELECT served.ts, served.io_id, loop.dev, loop.loop_dev
    FROM io_served AS served
    JOIN (SELECT DISTINCT dev, loop_dev FROM worker) AS loop ON loop.loop_dev = served.dev
    JOIN io ON io.io_id = served.io_id AND io.op = 'write'
), owner AS (
    SELECT DISTINCT journal_commit.dev, journal_commit.transaction_id, wrote.loop_dev, io_blame.utid,
        io_blame.role
    FROM wrote
    ASOF JOIN journal_commit ON journal_commit.dev = wrote.dev AND wrote.ts <= journal_commit.ts
    JOIN io_blame ON io_blame.io_id = wrote.io_id
    SEMI JOIN worker
        ON worker.dev = journal_commit.dev AND worker.transaction_id = journal_commit.transaction_id
        AND worker.loop_dev = wrote.loop_dev
), joined AS (
    SELECT dev, transaction_id, handle.utid, task.role
    FROM journal_handle AS handle
    JOIN task USING (utid)
    ANTI JOIN (FROM worker SEMI JOIN owner USING (dev, transaction_id, loop_dev)) AS replaced
        USING (dev, transaction_id, utid)
    UNION
    SELECT dev, transaction_id, utid, role FROM owner
)
SELECT journal_commit.utid AS journal_utid, journal_commit.ts,
    journal_commit.ts + journal_commit.dur AS end_ns, journal_commit.dev, joined.utid,
    joined.role = 'kernel' AS is_kernel
FROM journal_commit
JOIN joined USING (dev, transaction_id)
WHERE journal_commit.dur IS NOT NULL
ORDER BY journal_commit.ts, joined.utid
