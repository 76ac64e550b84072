CREATE TABLE device (
    dev BIGINT,
    name VARCHAR
);

COMMENT ON TABLE device IS 'block devices present when the recording began';
COMMENT ON COLUMN device.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN device.name IS 'kernel name';
