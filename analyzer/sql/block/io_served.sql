CREATE TABLE io_served (
    ts BIGINT,
    dur BIGINT,
    io_id UBIGINT,
    utid INTEGER,
    owner_utid INTEGER,
    layer VARCHAR,
    dev BIGINT
);

COMMENT ON TABLE io_served IS 'the time in which a kernel worker worked for an io of a stacked device: a loop device''s worker on the backing file, kcryptd of dm-crypt, kcopyd of dm-snapshot and dm-thin, or md''s thread of RAID 4, 5 and 6; or changed inodes of XFS that somebody removed or wrote to';
COMMENT ON COLUMN io_served.ts IS 'begin';
COMMENT ON COLUMN io_served.dur IS 'until it was done, or handed to the device below';
COMMENT ON COLUMN io_served.io_id IS 'io of the loop device, or the read below that dm-crypt decrypts, else NULL';
COMMENT ON COLUMN io_served.utid IS 'the worker';
COMMENT ON COLUMN io_served.owner_utid IS 'thread for whom: it queued the io, or dirtied most of its pages, or removed the file';
COMMENT ON COLUMN io_served.layer IS 'loop, crypt, copy (dm-snapshot, dm-thin), stripe (RAID 4, 5 and 6) or xfs';
COMMENT ON COLUMN io_served.dev IS 'the loop device, the uppermost device, or that of the XFS';
