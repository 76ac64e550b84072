CREATE TABLE io (
    io_id UBIGINT,
    dev BIGINT,
    op VARCHAR,
    cmd_flags UINTEGER,
    sector UBIGINT,
    bytes BIGINT,
    submitter_utid INTEGER,
    ino UBIGINT,
    cgroup_id BIGINT,
    queued_ns BIGINT,
    got_ns BIGINT,
    inserted_ns BIGINT,
    issued_ns BIGINT,
    completed_ns BIGINT,
    n_bios INTEGER,
    is_requeued BOOLEAN,
    is_from_request BOOLEAN,
    is_recorder BOOLEAN,
    is_throttled BOOLEAN,
    is_swap_out BOOLEAN,
    error INTEGER
);

COMMENT ON TABLE io IS 'finished ios with the times of their stages';
COMMENT ON COLUMN io.io_id IS 'key';
COMMENT ON COLUMN io.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN io.op IS 'operation: read, write, flush, discard, write_zeroes, or the number of another';
COMMENT ON COLUMN io.cmd_flags IS 'request flags of the kernel (REQ_OP_* in the low 8 bits)';
COMMENT ON COLUMN io.sector IS 'first sector (512 B)';
COMMENT ON COLUMN io.bytes IS 'length of the data';
COMMENT ON COLUMN io.submitter_utid IS 'thread that queued the first bio';
COMMENT ON COLUMN io.ino IS 'inode of the first page, NULL when it has none; io_file has its file system and name';
COMMENT ON COLUMN io.cgroup_id IS 'cgroup v2 id the first bio is charged to';
COMMENT ON COLUMN io.queued_ns IS 'Q: first bio queued';
COMMENT ON COLUMN io.got_ns IS 'G: request allocated';
COMMENT ON COLUMN io.inserted_ns IS 'I: inserted in the scheduler, NULL when issued directly';
COMMENT ON COLUMN io.issued_ns IS 'D: issued to the driver';
COMMENT ON COLUMN io.completed_ns IS 'C: completed';
COMMENT ON COLUMN io.n_bios IS 'number of bios, more than one after merges';
COMMENT ON COLUMN io.is_requeued IS 'the driver requeued it at least once';
COMMENT ON COLUMN io.is_from_request IS 'its bio was not seen: queued_ns is the time of allocation';
COMMENT ON COLUMN io.is_recorder IS 'submitted by the recorder itself';
COMMENT ON COLUMN io.is_throttled IS 'blk-throttle (io.max) delayed it, between Q and G';
COMMENT ON COLUMN io.is_swap_out IS 'it writes memory of processes to swap space; reads from there are not marked';
COMMENT ON COLUMN io.error IS 'blk_status_t of the completion, 0 for success';
