CREATE TABLE meta (
    key VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE meta IS 'Facts about the study: what was asked, and of which machine.';
COMMENT ON COLUMN meta.key IS 'Name of the fact.';
COMMENT ON COLUMN meta.value IS 'The fact.';
