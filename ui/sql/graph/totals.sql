-- The requests of the wait-for graph: how many, their time, and how much of it their own threads ran
-- on a CPU. $1 to $4 as in edges.sql.
WITH picked AS MATERIALIZED (
    SELECT request_id, dur
    FROM digest.picked($1, $2, $3, $4)
), own AS (
    SELECT sum(segment.dur)::BIGINT AS dur
    FROM segment
    JOIN picked ON picked.request_id = segment.request_id
    WHERE segment.depth = 0
      AND segment.kind = 'cpu'
)
SELECT
    count(*), coalesce(sum(picked.dur), 0)::BIGINT, coalesce((SELECT dur FROM own), 0)::BIGINT
FROM picked
