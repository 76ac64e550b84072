-- Ios in flight in [$1, $2) with their submitter, file, and the threads that dirtied their pages.
SELECT io_id, io.dev, op, bytes, sector, queued_ns, issued_ns, completed_ns,
    task.comm, task.role, io_file.path, causes
FROM io
LEFT JOIN task ON task.utid = submitter_utid
LEFT JOIN io_file USING (io_id)
LEFT JOIN (
    SELECT io_id, string_agg(comm || ' (' || n_pages || ' pages)', ', ' ORDER BY n_pages DESC)
        AS causes
    FROM io_cause JOIN task USING (utid)
    GROUP BY io_id
) USING (io_id)
WHERE queued_ns < $2 AND completed_ns >= $1
ORDER BY queued_ns, io_id
