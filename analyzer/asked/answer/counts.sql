-- Outermost foreground requests (a request inside one of its own name counts too), and those that
-- were held up. An unfinished request has no path, so requests inside it count.
WITH outermost AS (
    SELECT request.request_id, request.name, request.dur
    FROM request
    JOIN task USING (utid)
    LEFT JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE task.role = 'foreground' AND request.dur IS NOT NULL
      AND (parent.dur IS NULL OR parent.name = request.name)
), held AS (
    SELECT request_id, sum(dur) AS inverted
    FROM inversion
    GROUP BY request_id
)
SELECT count(*), coalesce(min(name), ''), count(DISTINCT name), count(inverted),
    coalesce(sum(inverted), 0)::BIGINT,
    coalesce(sum(dur) FILTER (inverted IS NOT NULL), 0)::BIGINT
FROM outermost
LEFT JOIN held USING (request_id)
