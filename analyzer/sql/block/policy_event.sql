CREATE TABLE policy_event (
    policy_event_id INTEGER,
    kind VARCHAR,
    utid INTEGER,
    io_id UBIGINT,
    dev BIGINT,
    ts BIGINT,
    dur BIGINT,
    level VARCHAR,
    n_used BIGINT,
    n_allowed BIGINT,
    since_critical_dur BIGINT,
    n_critical BIGINT,
    n_noncritical BIGINT,
    source VARCHAR,
    ioprio INTEGER
);

COMMENT ON TABLE policy_event IS 'decisions of the patched kernel''s policies that changed something; empty on other kernels';
COMMENT ON COLUMN policy_event.policy_event_id IS 'key, in recorded order, from 1';
COMMENT ON COLUMN policy_event.kind IS 'io_held (no token was free), io_starved (dispatched by the starvation timer), slot_wait, dirty_pause or mark; NULL for one that this rcp does not know';
COMMENT ON COLUMN policy_event.utid IS 'thread that waited or was marked, or submitted the io; NULL when not known';
COMMENT ON COLUMN policy_event.io_id IS 'the io it was about, NULL when it was about a thread';
COMMENT ON COLUMN policy_event.dev IS 'disk, major << 20 | minor; NULL when it was not about one';
COMMENT ON COLUMN policy_event.ts IS 'start of the wait; for a mark the time of the change';
COMMENT ON COLUMN policy_event.dur IS 'ns it waited: io_held in the scheduler, io_starved since the last io of its class was dispatched; NULL for a mark';
COMMENT ON COLUMN policy_event.level IS 'critical or noncritical: the class it was about, or the new mark (none: removed); NULL when not known';
COMMENT ON COLUMN policy_event.n_used IS 'tokens or slots in use, or dirty pages, at the decision';
COMMENT ON COLUMN policy_event.n_allowed IS 'their limit';
COMMENT ON COLUMN policy_event.since_critical_dur IS 'io_held: ns since the last critical I/O, NULL when there was none';
COMMENT ON COLUMN policy_event.n_critical IS 'io_starved: critical ios that it overtook';
COMMENT ON COLUMN policy_event.n_noncritical IS 'io_starved: non-critical ios that waited, this one included';
COMMENT ON COLUMN policy_event.source IS 'mark: its source: prctl, ioprio, cgroup, fork or default';
COMMENT ON COLUMN policy_event.ioprio IS 'mark by ioprio: the I/O priority, class << 13 | level';
