-- Latencies of finished requests by name and role, most total time first.
SELECT name, role, n, avg_dur, p50_dur, p99_dur, p999_dur, max_dur, n_children
FROM request_latency
ORDER BY dur DESC, name, role
