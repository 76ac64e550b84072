-- For Perfetto's trace processor: how long a thread's critical path between two moments was a
-- thread's of this name, by its own word.
SELECT coalesce(sum(path.dur), 0) AS ns
FROM _thread_executing_span_critical_path(
    (SELECT utid FROM thread WHERE tid = {tid}), {ts}, {dur}) AS path
JOIN thread USING (utid)
WHERE thread.name = '{comm}'
