CREATE TABLE io_cause (
    io_id UBIGINT,
    utid INTEGER,
    dev BIGINT,
    ino UBIGINT,
    n_pages BIGINT,
    n_causes BIGINT
);

COMMENT ON TABLE io_cause IS 'threads that dirtied pages of the inode that an io writes, since the previous io that wrote it';
COMMENT ON COLUMN io_cause.io_id IS 'the io';
COMMENT ON COLUMN io_cause.utid IS 'thread that dirtied pages';
COMMENT ON COLUMN io_cause.dev IS 'file system of the inode, major << 20 | minor';
COMMENT ON COLUMN io_cause.ino IS 'the inode';
COMMENT ON COLUMN io_cause.n_pages IS 'pages that the thread dirtied';
COMMENT ON COLUMN io_cause.n_causes IS 'number of threads known to have dirtied the inode';
