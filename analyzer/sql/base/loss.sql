CREATE TABLE loss (
    probe VARCHAR,
    cpu INTEGER,
    written BIGINT,
    lost BIGINT,
    excluded BIGINT,
    filtered BIGINT
);

COMMENT ON TABLE loss IS 'what the recorder counted per probe and CPU, lost events included';
COMMENT ON COLUMN loss.probe IS 'record type, or stack';
COMMENT ON COLUMN loss.cpu IS 'CPU that counted';
COMMENT ON COLUMN loss.written IS 'events recorded';
COMMENT ON COLUMN loss.lost IS 'events lost because a buffer was full, or given up to save CPU';
COMMENT ON COLUMN loss.excluded IS 'events of the recorder itself, left out';
COMMENT ON COLUMN loss.filtered IS 'events left out by a filter of the recording (--min-wait)';
