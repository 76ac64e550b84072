CREATE TABLE meta (
    key VARCHAR,
    value VARCHAR
);

COMMENT ON TABLE meta IS 'facts about the recording: host, clock, rules, how it ended';
COMMENT ON COLUMN meta.key IS 'name of the fact';
COMMENT ON COLUMN meta.value IS 'its value, as JSON';
