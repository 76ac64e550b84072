-- An io has an inode number and a disk, but no file system; a file has a file system. Records of
-- dirtied pages have both, and so have ios below a stacked device (dm, md); an io below a loop device
-- that carries the same pages has the file of the io that it is part of. Without one, the file is the only file of that inode number on the disk,
-- on its partitions, or on a stacked device (dm, md, btrfs), whose disks are not recorded.
-- depends: block.io
-- depends: block.io_cause
-- depends: block.io_origin
-- depends: block.device
-- depends: base.file

CREATE VIEW io_file AS
WITH dirtied AS (
    SELECT io_id, any_value(dev) AS dev, any_value(ino) AS ino
    FROM io_cause
    WHERE ino <> 0
    GROUP BY io_id
), placed AS (
    SELECT file.dev, file.ino, device.disk_dev
    FROM file
    LEFT JOIN device USING (dev)
), guessed AS (
    SELECT io.io_id, any_value(placed.dev) AS dev, any_value(placed.ino) AS ino
    FROM io
    JOIN placed ON placed.ino = io.ino AND coalesce(placed.disk_dev, io.dev) = io.dev
    GROUP BY io.io_id
    HAVING count(*) = 1
), own AS (
    SELECT
        io.io_id,
        io_origin.parent_io_id,
        coalesce(dirtied.dev, io_origin.file_dev, guessed.dev) AS dev,
        coalesce(dirtied.ino, io.ino) AS ino
    FROM io
    LEFT JOIN dirtied USING (io_id)
    LEFT JOIN io_origin USING (io_id)
    LEFT JOIN guessed USING (io_id)
), known AS (
    SELECT
        own.io_id,
        if(own.ino IS NULL, above.dev, own.dev) AS dev,
        coalesce(own.ino, above.ino) AS ino
    FROM own
    LEFT JOIN own AS above ON above.io_id = own.parent_io_id
)
SELECT
    known.io_id,
    known.dev,
    known.ino,
    coalesce(file.path, 'inode ' || known.ino) AS path
FROM known
LEFT JOIN file ON file.dev = known.dev AND file.ino = known.ino
WHERE known.ino IS NOT NULL;

COMMENT ON VIEW io_file IS 'file that each io reads or writes, for ios of files';
COMMENT ON COLUMN io_file.io_id IS 'the io';
COMMENT ON COLUMN io_file.dev IS 'file system, NULL when it is ambiguous';
COMMENT ON COLUMN io_file.ino IS 'inode number';
COMMENT ON COLUMN io_file.path IS 'name for display: the last two parts of its path, else its inode number';
