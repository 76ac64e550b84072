-- A phase ends where the next one begins; a phase that was not seen is NULL.
-- depends: journal.journal_commit

CREATE VIEW journal_commit_phase AS
SELECT
    dev,
    transaction_id,
    ts,
    flushing_ns - locking_ns AS locking_dur,
    logging_ns - flushing_ns AS flushing_dur,
    ts + dur - logging_ns AS logging_dur
FROM journal_commit;

COMMENT ON VIEW journal_commit_phase IS 'time of each commit in each phase';
COMMENT ON COLUMN journal_commit_phase.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN journal_commit_phase.transaction_id IS 'as in journal_commit';
COMMENT ON COLUMN journal_commit_phase.ts IS 'commit began';
COMMENT ON COLUMN journal_commit_phase.locking_dur IS 'ns waiting for open handles';
COMMENT ON COLUMN journal_commit_phase.flushing_dur IS 'ns writing out ordered data';
COMMENT ON COLUMN journal_commit_phase.logging_dur IS 'ns writing metadata to the journal';
