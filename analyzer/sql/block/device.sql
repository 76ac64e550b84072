CREATE TABLE device (
    dev BIGINT,
    name VARCHAR,
    disk_dev BIGINT
);

COMMENT ON TABLE device IS 'block devices that were there while recording';
COMMENT ON COLUMN device.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN device.name IS 'kernel name; that of a dm device after its own name, that of a loop device after its backing file';
COMMENT ON COLUMN device.disk_dev IS 'disk of a partition, the device itself for a disk, NULL for a stacked device (dm, md)';
