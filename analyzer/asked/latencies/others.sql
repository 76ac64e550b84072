-- What held up each request although no role says that it belongs to the service: whose, how long.
SELECT request_id, sum(dur)::BIGINT AS dur
FROM inversion WHERE role = 'unknown' GROUP BY request_id
