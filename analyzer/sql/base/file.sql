CREATE TABLE file (
    dev BIGINT,
    ino UBIGINT,
    name VARCHAR,
    parent VARCHAR,
    path VARCHAR,
    ts BIGINT,
    is_directory BOOLEAN,
    is_block_device BOOLEAN
);

COMMENT ON TABLE file IS 'inodes of ios, waits and dirtied pages';
COMMENT ON COLUMN file.dev IS 'file system, major << 20 | minor';
COMMENT ON COLUMN file.ino IS 'inode number; (dev, ino) is the key';
COMMENT ON COLUMN file.name IS 'last part of its path, truncated to 31 bytes; NULL when it has none';
COMMENT ON COLUMN file.parent IS 'name of its folder; NULL when it has none';
COMMENT ON COLUMN file.path IS 'name for display: the last two parts of its path, /dev/NAME of a block device, else its inode number';
COMMENT ON COLUMN file.ts IS 'when it was first seen';
COMMENT ON COLUMN file.is_directory IS 'it is a folder';
COMMENT ON COLUMN file.is_block_device IS 'it is the device itself: metadata of the file system and the journal';
