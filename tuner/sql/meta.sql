CREATE TABLE meta (
    key VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE meta IS 'Facts about the study: its task and its machine.';
COMMENT ON COLUMN meta.key IS 'Name of the fact.';
COMMENT ON COLUMN meta.value IS 'The fact.';
