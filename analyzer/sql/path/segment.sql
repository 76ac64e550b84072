CREATE TABLE segment (
    segment_id INTEGER,
    request_id INTEGER,
    ts BIGINT,
    dur BIGINT,
    depth TINYINT,
    kind VARCHAR,
    utid INTEGER,
    io_id UBIGINT,
    edge_id INTEGER,
    ran_utid INTEGER
);

COMMENT ON TABLE segment IS 'critical paths: the segments of a request are disjoint and cover it exactly';
COMMENT ON COLUMN segment.segment_id IS 'key, in order of request and time, from 1';
COMMENT ON COLUMN segment.request_id IS 'request whose critical path it is on';
COMMENT ON COLUMN segment.ts IS 'start';
COMMENT ON COLUMN segment.dur IS 'length in ns';
COMMENT ON COLUMN segment.depth IS 'edges between the request and this, 0 for its own thread';
COMMENT ON COLUMN segment.kind IS 'cpu, interrupt (its CPU ends an io), runqueue, cpu_max (waits for the next period of a CPU limit), a stage of an io (admission_tag, queue, device), an outside wait (timer, network, pipe, poll) or unknown';
COMMENT ON COLUMN segment.utid IS 'its thread, NULL for an io stage';
COMMENT ON COLUMN segment.io_id IS 'its io; of an interrupt, the io that it ends';
COMMENT ON COLUMN segment.edge_id IS 'last edge that leads here, NULL at depth 0';
COMMENT ON COLUMN segment.ran_utid IS 'runqueue: thread that had the CPU meanwhile, NULL when not known';
