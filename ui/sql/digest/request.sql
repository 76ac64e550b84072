-- Finished requests with the columns that every screen uses.
CREATE TABLE digest.request AS
SELECT
    request.request_id,
    request.ts,
    request.dur,
    request.name,
    request.utid,
    task.role,
    task.comm,
    task.cgroup_id,
    request.parent_request_id IS NULL AS is_outer
FROM request
JOIN task USING (utid)
WHERE request.dur IS NOT NULL
