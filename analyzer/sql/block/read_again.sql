CREATE TABLE read_again (
    utid INTEGER,
    ts BIGINT,
    dev UBIGINT,
    ino UBIGINT,
    first_page UBIGINT,
    n_pages UBIGINT
);

COMMENT ON TABLE read_again IS 'reads of a file after pages of it were dropped from memory (page_drop)';
COMMENT ON COLUMN read_again.utid IS 'the thread that read them';
COMMENT ON COLUMN read_again.ts IS 'when it queued the io that reads them, or what was merged into that io';
COMMENT ON COLUMN read_again.dev IS 'file system of the file';
COMMENT ON COLUMN read_again.ino IS 'inode of the file';
COMMENT ON COLUMN read_again.first_page IS 'first page of 4 KiB that is read';
COMMENT ON COLUMN read_again.n_pages IS 'how many pages are read';
