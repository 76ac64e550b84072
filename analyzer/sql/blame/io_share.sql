CREATE TABLE io_share (
    io_id UBIGINT,
    utid INTEGER,
    kind VARCHAR,
    share DOUBLE
);

COMMENT ON TABLE io_share IS 'attribution of ios to threads other than their submitter; io_blame has all ios';
COMMENT ON COLUMN io_share.io_id IS 'the io';
COMMENT ON COLUMN io_share.utid IS 'thread that the io is attributed to';
COMMENT ON COLUMN io_share.kind IS 'why: dirtier, journal (its handles joined the transaction), origin (a stacked device queued it for this thread), or flush (it asked for it)';
COMMENT ON COLUMN io_share.share IS 'its share of the io, 0 to 1: by pages dirtied, by handles, or of those that asked for a flush';
