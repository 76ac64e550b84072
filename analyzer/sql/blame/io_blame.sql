-- Whose work an io is. Who dirtied what it writes is the best answer; what a journal's thread
-- writes during a commit is the work of those whose handles joined the transaction; any other io
-- is its submitter's. Shares of an io sum to 1.
-- depends: block.io
-- depends: block.io_cause
-- depends: journal.journal_commit
-- depends: journal.journal_contributor
-- depends: base.task

CREATE VIEW io_blame AS
WITH dirtied AS (
    SELECT io_id, utid, sum(greatest(n_pages, 1)) AS weight
    FROM io_cause
    GROUP BY io_id, utid
), journal_io AS (
    SELECT io.io_id, journal_commit.dev, journal_commit.transaction_id
    FROM io
    ASOF JOIN journal_commit
        ON journal_commit.utid = io.submitter_utid AND io.queued_ns >= journal_commit.ts
    WHERE io.queued_ns < coalesce(journal_commit.ts + journal_commit.dur, io.queued_ns + 1)
), joined AS (
    SELECT journal_io.io_id, journal_contributor.utid, journal_contributor.share AS weight
    FROM journal_io
    JOIN journal_contributor USING (dev, transaction_id)
    ANTI JOIN dirtied USING (io_id)
), cause AS (
    SELECT io_id, utid, 'dirtier' AS kind, weight FROM dirtied
    UNION ALL
    SELECT io_id, utid, 'journal', weight FROM joined
    UNION ALL
    SELECT io_id, submitter_utid, 'submitter', 1
    FROM io
    ANTI JOIN dirtied USING (io_id)
    ANTI JOIN joined USING (io_id)
    WHERE submitter_utid IS NOT NULL
)
SELECT
    cause.io_id,
    cause.utid,
    task.comm,
    task.role,
    cause.kind,
    cause.weight / sum(cause.weight) OVER (PARTITION BY cause.io_id) AS share
FROM cause
JOIN task USING (utid);

COMMENT ON VIEW io_blame IS 'threads whose work each io is';
COMMENT ON COLUMN io_blame.io_id IS 'the io';
COMMENT ON COLUMN io_blame.utid IS 'the thread';
COMMENT ON COLUMN io_blame.comm IS 'its name';
COMMENT ON COLUMN io_blame.role IS 'its role';
COMMENT ON COLUMN io_blame.kind IS 'how it is known: dirtier, journal (its handles joined the transaction), or submitter';
COMMENT ON COLUMN io_blame.share IS 'its part of the io, 0 to 1: by pages dirtied, or by handles';
