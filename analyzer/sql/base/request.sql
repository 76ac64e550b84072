CREATE TABLE request (
    request_id INTEGER,
    utid INTEGER,
    parent_request_id INTEGER,
    name VARCHAR,
    ts BIGINT,
    dur BIGINT,
    ret BIGINT,
    arg0 UBIGINT,
    cpu_dur BIGINT,
    runqueue_dur BIGINT,
    asleep_dur BIGINT,
    n_sleeps INTEGER
);

COMMENT ON TABLE request IS 'units of work that somebody waits for: syscalls of target threads, or the time between two probe points';
COMMENT ON COLUMN request.request_id IS 'key, in order of start, from 1';
COMMENT ON COLUMN request.utid IS 'thread that made it';
COMMENT ON COLUMN request.parent_request_id IS 'innermost request of the same thread that encloses it, such as the transaction of an fsync';
COMMENT ON COLUMN request.name IS 'syscall, name of the probe points (transaction, …), or socket';
COMMENT ON COLUMN request.ts IS 'start';
COMMENT ON COLUMN request.dur IS 'duration in ns, NULL when unfinished';
COMMENT ON COLUMN request.ret IS 'return value';
COMMENT ON COLUMN request.arg0 IS 'first argument: file descriptor of a syscall, or the socket';
COMMENT ON COLUMN request.cpu_dur IS 'ns its own thread ran, without interrupts that ended ios meanwhile';
COMMENT ON COLUMN request.runqueue_dur IS 'ns its own thread was runnable but not running';
COMMENT ON COLUMN request.asleep_dur IS 'ns its own thread slept';
COMMENT ON COLUMN request.n_sleeps IS 'times its own thread slept';
