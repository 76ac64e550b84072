-- Makes a benchmark's latencies, all alike, as uneven as those of a busy disk. Each request and
-- all of its path is stretched by a factor from 1 to some 400, drawn from its id: most by
-- 1 to 3, one in 1000 by more than 5.
CREATE TEMP TABLE factor AS
SELECT
    request_id,
    ts,
    1 + 2 * (hash(request_id) % 1000) / 1000
        + 0.05 * power(1 - (hash(request_id * 31 + 7) % 1000000) / 1000000.0, -0.65) AS factor
FROM request;

UPDATE segment SET
    ts = factor.ts + ((segment.ts - factor.ts) * factor.factor)::BIGINT,
    dur = (dur * factor.factor)::BIGINT
FROM factor WHERE factor.request_id = segment.request_id;

UPDATE edge SET
    ts = factor.ts + ((edge.ts - factor.ts) * factor.factor)::BIGINT,
    dur = (dur * factor.factor)::BIGINT
FROM factor WHERE factor.request_id = edge.request_id;

UPDATE inversion SET
    ts = factor.ts + ((inversion.ts - factor.ts) * factor.factor)::BIGINT,
    dur = (dur * factor.factor)::BIGINT
FROM factor WHERE factor.request_id = inversion.request_id;

UPDATE request SET dur = (dur * factor.factor)::BIGINT
FROM factor WHERE factor.request_id = request.request_id;

CHECKPOINT
