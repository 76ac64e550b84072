CREATE TABLE loss (
    probe VARCHAR,
    cpu INTEGER,
    written BIGINT,
    lost BIGINT,
    excluded BIGINT,
    filtered BIGINT,
    missing BIGINT
);

COMMENT ON TABLE loss IS 'events per probe and CPU: recorded, lost, excluded, filtered and missing';
COMMENT ON COLUMN loss.probe IS 'record type, or stack';
COMMENT ON COLUMN loss.cpu IS 'CPU that counted; NULL in the row of missing events';
COMMENT ON COLUMN loss.written IS 'events recorded';
COMMENT ON COLUMN loss.lost IS 'events lost because a buffer was full, or dropped to save CPU';
COMMENT ON COLUMN loss.excluded IS 'events of the recorder itself, not recorded';
COMMENT ON COLUMN loss.filtered IS 'events not recorded because of a filter (--min-wait)';
COMMENT ON COLUMN loss.missing IS 'events recorded that the spool no longer had whole when it was loaded: cut off, deleted or damaged';
