CREATE TABLE inheritance (
    inheritance_id INTEGER,
    kind VARCHAR,
    ts BIGINT,
    utid INTEGER,
    mechanism VARCHAR,
    helper_utid INTEGER,
    depth INTEGER,
    io_id UBIGINT,
    queued_dur BIGINT,
    found_by VARCHAR
);

COMMENT ON TABLE inheritance IS 'what the patched kernel made critical because a critical task waited for it; empty on other kernels';
COMMENT ON COLUMN inheritance.inheritance_id IS 'key, in recorded order, from 1';
COMMENT ON COLUMN inheritance.kind IS 'loan (another task became critical until the wait ended) or promotion (a queued io became critical)';
COMMENT ON COLUMN inheritance.ts IS 'when it became critical';
COMMENT ON COLUMN inheritance.utid IS 'thread that waited for it';
COMMENT ON COLUMN inheritance.mechanism IS 'loan: what it waited for: commit, locked, shadow, page, buffer, slot, dirty, mutex, rwsem, handle or futex; NULL for one that this rcp does not know';
COMMENT ON COLUMN inheritance.helper_utid IS 'loan: thread that became critical';
COMMENT ON COLUMN inheritance.depth IS 'loan: 1 for a wait of the critical task, 2 for one of its helper, and so on';
COMMENT ON COLUMN inheritance.io_id IS 'promotion: the io; NULL when it is not recorded';
COMMENT ON COLUMN inheritance.queued_dur IS 'promotion: ns that the io had been queued';
COMMENT ON COLUMN inheritance.found_by IS 'promotion: how the kernel found it, by mapping, sector or task';
