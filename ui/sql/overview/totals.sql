SELECT
    count(*),
    coalesce(sum(chosen.dur), 0)::BIGINT,
    coalesce(max(chosen.dur), 0),
    count(held.request_id),
    coalesce(sum(held.dur), 0)::BIGINT
FROM digest.chosen($1, $2) AS chosen
LEFT JOIN digest.held_request AS held USING (request_id)
