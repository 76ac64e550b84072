CREATE TABLE knob (
    name VARCHAR PRIMARY KEY,
    what VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    backend VARCHAR NOT NULL,
    initial JSON,
    definition JSON NOT NULL
);
COMMENT ON TABLE knob IS 'The knobs of the machine when the study began.';
COMMENT ON COLUMN knob.name IS 'Its name, as in settings.';
COMMENT ON COLUMN knob.what IS 'What it does.';
COMMENT ON COLUMN knob.unit IS 'Unit of its values, empty for words.';
COMMENT ON COLUMN knob.backend IS 'Origin of the knob: stock, rcp or file (the user''s).';
COMMENT ON COLUMN knob.initial IS 'Its value before the study; NULL if it did not exist then.';
COMMENT ON COLUMN knob.definition IS 'Range, scale and conditions, as rcp-tune uses them.';
