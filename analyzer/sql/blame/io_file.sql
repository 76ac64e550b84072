-- An io names the inode but only the disk, and a file its file system. What was dirtied names
-- both. Else a file of that inode must be on the disk or one of its partitions, or on a stacked
-- device (dm, md, btrfs), whose disks nobody recorded; and it must be the only such one.
-- depends: block.io
-- depends: block.io_cause
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
)
SELECT
    io.io_id,
    coalesce(dirtied.dev, guessed.dev) AS dev,
    coalesce(dirtied.ino, io.ino) AS ino,
    coalesce(file.path, 'inode ' || coalesce(dirtied.ino, io.ino)) AS path
FROM io
LEFT JOIN dirtied USING (io_id)
LEFT JOIN guessed USING (io_id)
LEFT JOIN file ON file.dev = coalesce(dirtied.dev, guessed.dev)
    AND file.ino = coalesce(dirtied.ino, guessed.ino)
WHERE coalesce(dirtied.ino, io.ino) IS NOT NULL;

COMMENT ON VIEW io_file IS 'the file each io reads or writes, where it belongs to one';
COMMENT ON COLUMN io_file.io_id IS 'the io';
COMMENT ON COLUMN io_file.dev IS 'file system, NULL when several could be meant';
COMMENT ON COLUMN io_file.ino IS 'inode number';
COMMENT ON COLUMN io_file.path IS 'what to call it: the last two parts of its path, else its number';
