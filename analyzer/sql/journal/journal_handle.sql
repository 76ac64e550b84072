CREATE TABLE journal_handle (
    utid INTEGER,
    ts BIGINT,
    dur BIGINT,
    held_dur BIGINT,
    longest_dur BIGINT,
    dev BIGINT,
    transaction_id BIGINT,
    n_handles BIGINT,
    n_blocks BIGINT
);

COMMENT ON TABLE journal_handle IS 'total of one thread''s handles in one transaction of jbd2, or of its changes in an XFS checkpoint; a thread has several rows if others came between';
COMMENT ON COLUMN journal_handle.utid IS 'the thread';
COMMENT ON COLUMN journal_handle.ts IS 'first handle started';
COMMENT ON COLUMN journal_handle.dur IS 'ns until the last handle stopped';
COMMENT ON COLUMN journal_handle.held_dur IS 'total ns they were open';
COMMENT ON COLUMN journal_handle.longest_dur IS 'longest time in ns that one was open';
COMMENT ON COLUMN journal_handle.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN journal_handle.transaction_id IS 'as in journal_commit';
COMMENT ON COLUMN journal_handle.n_handles IS 'number of handles';
COMMENT ON COLUMN journal_handle.n_blocks IS 'blocks they added to it, of XFS 512 bytes each; NULL: not recorded, or it was not committed';
