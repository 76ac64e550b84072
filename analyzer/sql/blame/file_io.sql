-- depends: block.io
-- depends: blame.io_file
-- depends: blame.io_blame

CREATE VIEW file_io AS
WITH writer AS (
    SELECT io_file.dev, io_file.ino, io_blame.comm, sum(io.bytes * io_blame.share) AS bytes
    FROM io_blame
    JOIN io USING (io_id)
    JOIN io_file USING (io_id)
    WHERE io.op = 'write'
    GROUP BY io_file.dev, io_file.ino, io_blame.comm
), writers AS (
    SELECT dev, ino, list(comm ORDER BY bytes DESC, comm) AS comms
    FROM writer
    GROUP BY dev, ino
), total AS (
    SELECT
        io_file.dev,
        io_file.ino,
        any_value(io_file.path) AS path,
        count(*) FILTER (io.op = 'read') AS n_reads,
        coalesce(sum(io.bytes) FILTER (io.op = 'read'), 0)::BIGINT AS read_bytes,
        count(*) FILTER (io.op = 'write') AS n_writes,
        coalesce(sum(io.bytes) FILTER (io.op = 'write'), 0)::BIGINT AS written_bytes,
        sum(io.completed_ns - io.issued_ns)::BIGINT AS device_dur
    FROM io
    JOIN io_file USING (io_id)
    GROUP BY io_file.dev, io_file.ino
)
SELECT
    total.dev,
    total.ino,
    total.path,
    total.n_reads,
    total.read_bytes,
    total.n_writes,
    total.written_bytes,
    total.device_dur,
    coalesce(writers.comms, []) AS writers
FROM total
LEFT JOIN writers ON writers.dev IS NOT DISTINCT FROM total.dev AND writers.ino = total.ino;

COMMENT ON VIEW file_io IS 'ios per file';
COMMENT ON COLUMN file_io.dev IS 'file system, NULL when it is ambiguous';
COMMENT ON COLUMN file_io.ino IS 'inode number';
COMMENT ON COLUMN file_io.path IS 'name for display';
COMMENT ON COLUMN file_io.n_reads IS 'ios that read it';
COMMENT ON COLUMN file_io.read_bytes IS 'bytes they read';
COMMENT ON COLUMN file_io.n_writes IS 'ios that wrote it';
COMMENT ON COLUMN file_io.written_bytes IS 'bytes they wrote';
COMMENT ON COLUMN file_io.device_dur IS 'total ns its ios spent in driver and device';
COMMENT ON COLUMN file_io.writers IS 'names of the threads that the writes are attributed to, most bytes first';
