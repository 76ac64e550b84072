CREATE TABLE inversion (
    inversion_id INTEGER,
    request_id INTEGER,
    kind VARCHAR,
    culprit_utid INTEGER,
    culprit VARCHAR,
    role VARCHAR,
    role_rule VARCHAR,
    ts BIGINT,
    dur BIGINT,
    share DOUBLE,
    chain VARCHAR,
    pattern VARCHAR,
    n_ios_ahead BIGINT,
    bytes_ahead BIGINT,
    confidence DOUBLE
);

COMMENT ON TABLE inversion IS 'progress of foreground requests held up by something that serves other work';
COMMENT ON COLUMN inversion.inversion_id IS 'key, in order of request, from 1';
COMMENT ON COLUMN inversion.request_id IS 'the request held up';
COMMENT ON COLUMN inversion.kind IS 'lock, condition, io_dependency, queue or device';
COMMENT ON COLUMN inversion.culprit_utid IS 'thread whose work held it up';
COMMENT ON COLUMN inversion.culprit IS 'name of that thread, without numbers that differ between alike threads';
COMMENT ON COLUMN inversion.role IS 'role of the culprit';
COMMENT ON COLUMN inversion.role_rule IS 'rule that gave the role';
COMMENT ON COLUMN inversion.ts IS 'start of the first segment';
COMMENT ON COLUMN inversion.dur IS 'ns of the critical path, all segments together';
COMMENT ON COLUMN inversion.share IS 'part of the request''s duration, 0 to 1';
COMMENT ON COLUMN inversion.chain IS 'edges from the request to the culprit';
COMMENT ON COLUMN inversion.pattern IS 'the chain without numbers that differ between alike threads';
COMMENT ON COLUMN inversion.n_ios_ahead IS 'queue and device: most ios of others ahead or in flight at once';
COMMENT ON COLUMN inversion.bytes_ahead IS 'queue and device: bytes of these';
COMMENT ON COLUMN inversion.confidence IS '0 to 1; lowered by a culprit without a role, lost events and guessed service times';
