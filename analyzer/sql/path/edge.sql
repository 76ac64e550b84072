CREATE TABLE edge (
    edge_id INTEGER,
    request_id INTEGER,
    depth TINYINT,
    parent_edge_id INTEGER,
    sleep_id INTEGER,
    ts BIGINT,
    dur BIGINT,
    waiter_utid INTEGER,
    reason VARCHAR,
    object UBIGINT,
    is_passed BOOLEAN,
    waker_utid INTEGER,
    io_id UBIGINT
);

COMMENT ON TABLE edge IS 'sleeps on critical paths: the waiter, and what ended the sleep';
COMMENT ON COLUMN edge.edge_id IS 'key, from 1; a parent has a smaller one';
COMMENT ON COLUMN edge.request_id IS 'request whose critical path it is on';
COMMENT ON COLUMN edge.depth IS 'edges between the request and the waiter, 0 for its own thread';
COMMENT ON COLUMN edge.parent_edge_id IS 'edge that leads to the waiter, NULL at depth 0';
COMMENT ON COLUMN edge.sleep_id IS 'the sleep';
COMMENT ON COLUMN edge.ts IS 'start of the part that is on the path';
COMMENT ON COLUMN edge.dur IS 'its length in ns';
COMMENT ON COLUMN edge.waiter_utid IS 'the sleeper';
COMMENT ON COLUMN edge.reason IS 'what it waited for';
COMMENT ON COLUMN edge.object IS 'address of the lock or journal waited for';
COMMENT ON COLUMN edge.is_passed IS 'it waited for the same lock as its parent: who passed the lock on is not to blame for who had it before';
COMMENT ON COLUMN edge.waker_utid IS 'thread that ended the sleep, or submitted the io that did';
COMMENT ON COLUMN edge.io_id IS 'io whose completion ended the sleep';
