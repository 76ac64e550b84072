-- What can be waited for, as nodes of the wait-for graph.
--   kind  reason of a wait, or kind of a segment
--   dev   device of the segment's io, NULL if it has none or that io is not in the recording
--   node  key of the node, wait:KIND:DEVICE
CREATE TABLE digest.waited AS
WITH kinds AS (
    SELECT reason AS kind FROM edge
    UNION
    SELECT kind FROM segment
), devices AS (
    SELECT DISTINCT
        io.dev,
        coalesce(device.name, (io.dev >> 20) || ':' || (io.dev & 1048575), '') AS name
    FROM io
    LEFT JOIN device ON device.dev = io.dev
    WHERE io.dev IS NOT NULL
    UNION ALL
    SELECT NULL, ''
)
SELECT kinds.kind, devices.dev, 'wait:' || kinds.kind || ':' || devices.name AS node
FROM kinds
CROSS JOIN devices
