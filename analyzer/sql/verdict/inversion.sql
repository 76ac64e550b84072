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
    depth TINYINT,
    chain VARCHAR,
    pattern VARCHAR,
    n_ios_ahead DOUBLE,
    bytes_ahead BIGINT,
    n_ios_all BIGINT,
    bytes_all BIGINT,
    confidence DOUBLE
);

COMMENT ON TABLE inversion IS 'parts of foreground requests'' critical paths that were held up by something that serves other work';
COMMENT ON COLUMN inversion.inversion_id IS 'key, in order of request, from 1';
COMMENT ON COLUMN inversion.request_id IS 'the request held up';
COMMENT ON COLUMN inversion.kind IS 'lock, condition, io_dependency, admission_slot, admission_tag, dirty_throttle, queue, device, flush, refault, cpu, cpu_max or interrupt';
COMMENT ON COLUMN inversion.culprit_utid IS 'thread whose work held up the request';
COMMENT ON COLUMN inversion.culprit IS 'name of that thread, without the numbers by which threads of one kind differ';
COMMENT ON COLUMN inversion.role IS 'role of the culprit';
COMMENT ON COLUMN inversion.role_rule IS 'rule that assigned the role';
COMMENT ON COLUMN inversion.ts IS 'start of the first segment';
COMMENT ON COLUMN inversion.dur IS 'ns of the critical path, total of all segments; of a segment that several shared, only the culprit''s part';
COMMENT ON COLUMN inversion.share IS 'share of the request''s duration, 0 to 1';
COMMENT ON COLUMN inversion.depth IS 'number of edges on the chain';
COMMENT ON COLUMN inversion.chain IS 'edges from the request to the culprit, and to where most of the time was spent';
COMMENT ON COLUMN inversion.pattern IS 'the chain without the numbers by which threads of one kind differ';
COMMENT ON COLUMN inversion.n_ios_ahead IS 'admission, queue, device and flush: largest number of background ios ahead or in flight at once; of an io with the data of several threads, only the background''s share';
COMMENT ON COLUMN inversion.bytes_ahead IS 'bytes of these ios, or of these shares';
COMMENT ON COLUMN inversion.n_ios_all IS 'all ios that were ahead or in flight then, the background''s included';
COMMENT ON COLUMN inversion.bytes_all IS 'their bytes';
COMMENT ON COLUMN inversion.confidence IS '0 to 1; lowered by a culprit without a role, lost events, models and guesses';
