-- What the patched kernel made critical, by mechanism.
SELECT kind, mechanism, n, n_requests, queued_dur, max_queued_dur
FROM inheritance_by_mechanism
ORDER BY kind, n DESC, mechanism
