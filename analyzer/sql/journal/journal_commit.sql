CREATE TABLE journal_commit (
    ts BIGINT,
    dur BIGINT,
    dev BIGINT,
    transaction_id BIGINT,
    utid INTEGER,
    locking_ns BIGINT,
    flushing_ns BIGINT,
    logging_ns BIGINT,
    n_handles INTEGER,
    n_blocks INTEGER,
    n_blocks_logged INTEGER
);

COMMENT ON TABLE journal_commit IS 'jbd2 commits with the start times of their phases; of an XFS checkpoint, what each task did for it: a worker writes full buffers of the log, who needs it the last one, and a worker takes note of it';
COMMENT ON COLUMN journal_commit.ts IS 'commit began';
COMMENT ON COLUMN journal_commit.dur IS 'ns until the transaction was committed, or the task had done its part';
COMMENT ON COLUMN journal_commit.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN journal_commit.transaction_id IS 'jbd2 transaction; of XFS a number of the recording''s own';
COMMENT ON COLUMN journal_commit.utid IS 'journal thread, or of XFS the worker or task';
COMMENT ON COLUMN journal_commit.locking_ns IS 'began waiting for open handles';
COMMENT ON COLUMN journal_commit.flushing_ns IS 'began writing out ordered data';
COMMENT ON COLUMN journal_commit.logging_ns IS 'began writing metadata to the journal';
COMMENT ON COLUMN journal_commit.n_handles IS 'handles that joined the transaction';
COMMENT ON COLUMN journal_commit.n_blocks IS 'metadata buffers in the transaction; of XFS, changes in units of 512 bytes';
COMMENT ON COLUMN journal_commit.n_blocks_logged IS 'blocks written to the journal';
