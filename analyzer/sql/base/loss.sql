CREATE TABLE loss (
    probe VARCHAR,
    cpu INTEGER,
    written BIGINT,
    lost BIGINT,
    excluded BIGINT
);

COMMENT ON TABLE loss IS 'what the recorder counted per probe and CPU, lost events included';
COMMENT ON COLUMN loss.probe IS 'record type, or stack';
COMMENT ON COLUMN loss.cpu IS 'CPU that counted';
COMMENT ON COLUMN loss.written IS 'events recorded';
COMMENT ON COLUMN loss.lost IS 'events lost because a buffer was full';
COMMENT ON COLUMN loss.excluded IS 'events of the recorder itself, left out';
