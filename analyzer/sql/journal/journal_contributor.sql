-- Attributes a transaction to threads: by the blocks they added to it, because a commit writes each
-- once, and by their handles. The time that handles were open shows which thread delayed it.
-- depends: journal.journal_handle
-- depends: base.task

CREATE VIEW journal_contributor AS
SELECT
    handle.dev,
    handle.transaction_id,
    handle.utid,
    task.comm,
    task.role,
    sum(handle.n_handles)::BIGINT AS n_handles,
    sum(handle.n_blocks)::BIGINT AS n_blocks,
    sum(handle.held_dur)::BIGINT AS held_dur,
    max(handle.longest_dur) AS longest_dur,
    sum(handle.n_handles)
        / sum(sum(handle.n_handles)) OVER (PARTITION BY handle.dev, handle.transaction_id)
        AS share
FROM journal_handle AS handle
JOIN task USING (utid)
GROUP BY handle.dev, handle.transaction_id, handle.utid, task.comm, task.role;

COMMENT ON VIEW journal_contributor IS 'threads whose handles joined a transaction of jbd2, or that changed something in one of XFS';
COMMENT ON COLUMN journal_contributor.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN journal_contributor.transaction_id IS 'as in journal_commit';
COMMENT ON COLUMN journal_contributor.utid IS 'the thread';
COMMENT ON COLUMN journal_contributor.comm IS 'its name';
COMMENT ON COLUMN journal_contributor.role IS 'its role';
COMMENT ON COLUMN journal_contributor.n_handles IS 'number of its handles';
COMMENT ON COLUMN journal_contributor.n_blocks IS 'number of blocks they added to it';
COMMENT ON COLUMN journal_contributor.held_dur IS 'total ns they were open';
COMMENT ON COLUMN journal_contributor.longest_dur IS 'longest time in ns that one was open';
COMMENT ON COLUMN journal_contributor.share IS 'share of the transaction''s handles, 0 to 1';
