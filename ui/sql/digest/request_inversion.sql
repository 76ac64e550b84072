-- Time in inversions of each request.
CREATE TABLE digest.request_inversion AS
SELECT request_id, sum(dur)::BIGINT AS dur
FROM inversion
GROUP BY request_id
