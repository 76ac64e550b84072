-- What the requests of _window did and waited for.
SELECT reason, count(*), sum(request_wait.dur)::BIGINT
FROM request_wait JOIN _window USING (request_id) GROUP BY ALL
