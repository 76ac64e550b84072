-- Attributes each io to threads: to those that dirtied its pages, if known; during a commit of a
-- journal thread to those whose handles joined the transaction; otherwise to its submitter. The
-- shares of an io sum to 1.
-- depends: block.io
-- depends: blame.io_share
-- depends: base.task

CREATE VIEW io_blame AS
WITH cause AS (
    SELECT io_id, utid, kind, share
    FROM io_share
    UNION ALL
    SELECT io_id, submitter_utid, 'submitter', 1
    FROM io
    ANTI JOIN io_share USING (io_id)
    WHERE submitter_utid IS NOT NULL
)
SELECT
    cause.io_id,
    cause.utid,
    task.comm,
    task.role,
    cause.kind,
    cause.share
FROM cause
JOIN task USING (utid);

COMMENT ON VIEW io_blame IS 'threads that each io is attributed to';
COMMENT ON COLUMN io_blame.io_id IS 'the io';
COMMENT ON COLUMN io_blame.utid IS 'the thread';
COMMENT ON COLUMN io_blame.comm IS 'its name';
COMMENT ON COLUMN io_blame.role IS 'its role';
COMMENT ON COLUMN io_blame.kind IS 'why: dirtier, journal (its handles joined the transaction), origin (a stacked device queued it for this thread), flush (it asked for it), or submitter';
COMMENT ON COLUMN io_blame.share IS 'its share of the io, 0 to 1: by pages dirtied, by handles, or of those that asked for a flush';
