-- States and waits of the requests of _window.
SELECT reason, count(*), sum(request_wait.dur)::BIGINT
FROM request_wait JOIN _window USING (request_id) GROUP BY ALL
