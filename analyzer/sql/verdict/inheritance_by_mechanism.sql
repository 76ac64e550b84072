-- depends: base.request
-- depends: base.task
-- depends: block.inheritance
-- depends: path.request_inheritance

CREATE VIEW inheritance_by_mechanism AS
WITH felt AS (
    SELECT inheritance_id, list(request_id) AS requests
    FROM request_inheritance
    JOIN request USING (request_id)
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
    GROUP BY inheritance_id
)
SELECT
    kind,
    if(kind = 'loan', mechanism, found_by) AS mechanism,
    count(*) AS n,
    max(depth) AS max_depth,
    sum(queued_dur)::BIGINT AS queued_dur,
    max(queued_dur) AS max_queued_dur,
    len(list_distinct(flatten(list(coalesce(requests, [])))))::BIGINT AS n_requests
FROM inheritance
LEFT JOIN felt USING (inheritance_id)
GROUP BY ALL
ORDER BY kind, n DESC, mechanism;

COMMENT ON VIEW inheritance_by_mechanism IS 'totals of loans and promotions';
COMMENT ON COLUMN inheritance_by_mechanism.kind IS 'loan or promotion';
COMMENT ON COLUMN inheritance_by_mechanism.mechanism IS 'loan: what was waited for; promotion: how the io was found';
COMMENT ON COLUMN inheritance_by_mechanism.n IS 'number';
COMMENT ON COLUMN inheritance_by_mechanism.max_depth IS 'loan: the longest chain';
COMMENT ON COLUMN inheritance_by_mechanism.queued_dur IS 'promotion: ns that the ios had been queued, in total';
COMMENT ON COLUMN inheritance_by_mechanism.max_queued_dur IS 'promotion: the longest of these';
COMMENT ON COLUMN inheritance_by_mechanism.n_requests IS 'foreground requests with one on their critical path';
