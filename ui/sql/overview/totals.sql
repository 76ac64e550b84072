SELECT
    count(*),
    coalesce(sum(chosen.dur), 0)::BIGINT,
    coalesce(max(chosen.dur), 0),
    count(inverted.request_id),
    coalesce(sum(inverted.dur), 0)::BIGINT
FROM digest.chosen($1, $2) AS chosen
LEFT JOIN digest.request_inversion AS inverted USING (request_id)
