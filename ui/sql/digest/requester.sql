-- Requests as nodes of the wait-for graph: those of one name, made by threads that are one node.
--   utid, name  thread and name of the requests
--   node        key of their node, request:ROLE:NAME by THREAD
CREATE TABLE digest.requester AS
SELECT
    found.utid,
    found.name,
    'request:' || task.role || ':' || found.name || ' by ' || actor.requester AS node
FROM (SELECT DISTINCT utid, name FROM digest.request) AS found
JOIN task USING (utid)
JOIN digest.actor AS actor USING (utid)
