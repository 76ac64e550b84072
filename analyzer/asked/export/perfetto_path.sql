-- For Perfetto's trace processor: the time on a thread's critical path in an interval that Perfetto
-- attributes to threads of this name.
SELECT coalesce(sum(path.dur), 0) AS ns
FROM _thread_executing_span_critical_path(
    (SELECT utid FROM thread WHERE tid = {tid}), {ts}, {dur}) AS path
JOIN thread USING (utid)
WHERE thread.name = '{comm}'
