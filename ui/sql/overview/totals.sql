-- Requests, those that inversions delayed, and for how much of their own time: as the report's first
-- line counts them (analyzer/asked/answer/counts.sql).
SELECT
    count(*),
    coalesce(max(chosen.dur), 0),
    count(inverted.request_id),
    coalesce(sum(inverted.dur), 0)::BIGINT,
    coalesce(sum(chosen.dur) FILTER (inverted.request_id IS NOT NULL), 0)::BIGINT
FROM digest.chosen($1, $2) AS chosen
LEFT JOIN digest.request_inversion AS inverted USING (request_id)
