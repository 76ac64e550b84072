CREATE TABLE knob_write (
    trial_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    target VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (trial_id, position)
);
COMMENT ON TABLE knob_write IS 'The knobs that a trial set, in order; restoring them is in the journal only.';
COMMENT ON COLUMN knob_write.trial_id IS 'The trial.';
COMMENT ON COLUMN knob_write.position IS 'From 0, in the order of the writes.';
COMMENT ON COLUMN knob_write.target IS 'The knob.';
COMMENT ON COLUMN knob_write.value IS 'The value written.';
