CREATE TABLE io_origin (
    io_id UBIGINT,
    parent_io_id UBIGINT,
    queued_ns BIGINT,
    file_dev UBIGINT,
    utid INTEGER,
    dev BIGINT
);

COMMENT ON TABLE io_origin IS 'for whom a stacked device (dm, md, loop) queued an io at a device below it';
COMMENT ON COLUMN io_origin.io_id IS 'the io below';
COMMENT ON COLUMN io_origin.parent_io_id IS 'io of the loop device that it is part of, NULL when it is part of none';
COMMENT ON COLUMN io_origin.queued_ns IS 'when the bio was queued at the uppermost device';
COMMENT ON COLUMN io_origin.file_dev IS 'file system of the inode of the io, NULL when it has none or that of io parent_io_id';
COMMENT ON COLUMN io_origin.utid IS 'thread that queued it there, or that dirtied most of its pages';
COMMENT ON COLUMN io_origin.dev IS 'the uppermost device';
