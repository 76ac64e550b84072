-- Finished requests with the columns that every screen uses. Outermost are those that the report's
-- first line counts (analyzer/reports/answer.py): a request inside one of its own name is another
-- client's, and one inside an unfinished request has no path to be counted in.
CREATE TABLE digest.request AS
WITH nested AS (
    SELECT request.request_id
    FROM request
    JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE parent.dur IS NOT NULL
      AND parent.name <> request.name
)
SELECT
    request.request_id,
    request.ts,
    request.dur,
    request.name,
    request.utid,
    task.role,
    task.comm,
    task.cgroup_id,
    request.request_id NOT IN (FROM nested) AS is_outer
FROM request
JOIN task USING (utid)
WHERE request.dur IS NOT NULL
