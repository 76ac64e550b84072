-- How long inversions held each request up.
CREATE TABLE digest.held_request AS
SELECT request_id, sum(dur)::BIGINT AS dur
FROM inversion
GROUP BY request_id
