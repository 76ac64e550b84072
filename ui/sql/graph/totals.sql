-- The requests of the wait-for graph: how many, their time, and how much of it their own threads ran
-- on a CPU. $1 to $4 as in edges.sql.
WITH picked AS (
    SELECT request_id, dur
    FROM digest.chosen($1, $2)
    WHERE dur >= $3
      AND (
          $4::BIGINT IS NULL
          OR request_id IN (SELECT request_id FROM digest.request_pattern WHERE pattern_id = $4)
      )
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
