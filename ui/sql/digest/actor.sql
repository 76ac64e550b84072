-- Threads as nodes of the wait-for graph: all of one name, but for numbers, and role are one node.
-- $1: the names of threads; $2: the same without the numbers by which threads of one kind differ.
--   utid      the thread
--   task      key of its node, task:ROLE:NAME
--   ios       key of the node of the ios it submitted, io:ROLE:NAME
--   requester NAME, for the key of the node of its requests
CREATE TABLE digest.actor AS
SELECT
    task.utid,
    'task:' || task.role || ':' || named.generic AS task,
    'io:' || task.role || ':' || named.generic AS ios,
    named.generic AS requester
FROM task
JOIN (SELECT unnest($1::VARCHAR[]) AS comm, unnest($2::VARCHAR[]) AS generic) AS named USING (comm)
