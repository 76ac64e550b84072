CREATE TABLE lock_wait (
    utid INTEGER,
    ts BIGINT,
    dur BIGINT,
    lock UBIGINT,
    owner_utid INTEGER,
    type VARCHAR,
    stack_id INTEGER
);

COMMENT ON TABLE lock_wait IS 'contended lock acquisitions; they may have spun without sleeping';
COMMENT ON COLUMN lock_wait.utid IS 'the waiter';
COMMENT ON COLUMN lock_wait.ts IS 'contention began';
COMMENT ON COLUMN lock_wait.dur IS 'ns until acquired or given up';
COMMENT ON COLUMN lock_wait.lock IS 'address of the lock';
COMMENT ON COLUMN lock_wait.owner_utid IS 'owner when contention began, NULL when not known';
COMMENT ON COLUMN lock_wait.type IS 'kind of lock';
COMMENT ON COLUMN lock_wait.stack_id IS 'kernel stack of the waiter';
