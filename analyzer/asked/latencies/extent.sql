-- Length of the recording in ns.
SELECT max(value::BIGINT) FILTER (key = 'last_event_ns')
    - max(value::BIGINT) FILTER (key = 'first_event_ns')
FROM meta WHERE key IN ('first_event_ns', 'last_event_ns')
