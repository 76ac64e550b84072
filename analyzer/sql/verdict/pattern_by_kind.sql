-- inversion_pattern for each kind of request, for comparing two recordings.
-- depends: verdict.inversion
-- depends: base.request
-- depends: base.task

CREATE VIEW pattern_by_kind AS
SELECT
    request.name,
    task.role,
    inversion.kind,
    inversion.culprit,
    inversion.role AS culprit_role,
    inversion.pattern,
    count(DISTINCT inversion.request_id) AS n_requests,
    sum(inversion.dur)::BIGINT AS dur
FROM inversion
JOIN request USING (request_id)
JOIN task USING (utid)
GROUP BY ALL
ORDER BY
    request.name, task.role, sum(inversion.dur) DESC, inversion.pattern, inversion.kind,
    inversion.culprit, inversion.role;

COMMENT ON VIEW pattern_by_kind IS 'inversions by pattern for requests of each name and role';
COMMENT ON COLUMN pattern_by_kind.name IS 'name of the requests held up';
COMMENT ON COLUMN pattern_by_kind.role IS 'role of their threads';
COMMENT ON COLUMN pattern_by_kind.kind IS 'kind of the inversions';
COMMENT ON COLUMN pattern_by_kind.culprit IS 'name of the culprits, without numbers';
COMMENT ON COLUMN pattern_by_kind.culprit_role IS 'their role';
COMMENT ON COLUMN pattern_by_kind.pattern IS 'shape of the chain';
COMMENT ON COLUMN pattern_by_kind.n_requests IS 'requests held up';
COMMENT ON COLUMN pattern_by_kind.dur IS 'total ns';
