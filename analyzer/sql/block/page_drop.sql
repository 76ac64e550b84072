CREATE TABLE page_drop (
    utid INTEGER,
    ts BIGINT,
    dev UBIGINT,
    ino UBIGINT,
    first_page UBIGINT,
    last_page UBIGINT,
    n_pages UBIGINT
);

COMMENT ON TABLE page_drop IS 'pages of a file that a task dropped from memory: by posix_fadvise, a direct write or drop_caches';
COMMENT ON COLUMN page_drop.utid IS 'the thread that dropped them';
COMMENT ON COLUMN page_drop.ts IS 'when it began to do so';
COMMENT ON COLUMN page_drop.dev IS 'file system of the file';
COMMENT ON COLUMN page_drop.ino IS 'inode of the file';
COMMENT ON COLUMN page_drop.first_page IS 'first page of 4 KiB that it asked for';
COMMENT ON COLUMN page_drop.last_page IS 'last page that it asked for, which may be beyond the file';
COMMENT ON COLUMN page_drop.n_pages IS 'how many pages are no longer in memory';
