CREATE TABLE io_share (
    io_id UBIGINT,
    utid INTEGER,
    kind VARCHAR,
    share DOUBLE
);

COMMENT ON TABLE io_share IS 'causes of the ios whose submitter is not their cause; io_blame has those of all';
COMMENT ON COLUMN io_share.io_id IS 'the io';
COMMENT ON COLUMN io_share.utid IS 'the thread whose work it is';
COMMENT ON COLUMN io_share.kind IS 'how it is known: dirtier, or journal (its handles joined the transaction)';
COMMENT ON COLUMN io_share.share IS 'its part of the io, 0 to 1: by pages dirtied, or by handles';
