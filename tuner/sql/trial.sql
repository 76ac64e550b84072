CREATE TABLE trial (
    trial_id INTEGER PRIMARY KEY,
    phase VARCHAR NOT NULL,
    asked JSON NOT NULL,
    settings JSON NOT NULL,
    why VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    started TIMESTAMPTZ NOT NULL,
    wall_s DOUBLE NOT NULL,
    workload_s DOUBLE NOT NULL,
    objective DOUBLE,
    failed VARCHAR NOT NULL,
    recording VARCHAR
);
COMMENT ON TABLE trial IS 'One measurement of the workload under one set of settings.';
COMMENT ON COLUMN trial.trial_id IS 'Number of the trial in this study, from 1, in the order they were made.';
COMMENT ON COLUMN trial.phase IS 'Why it was made: baseline, search, confirm, record (of what remains), ablation or again (the winner, later).';
COMMENT ON COLUMN trial.asked IS 'What was proposed, by knob; what was not proposed kept its value.';
COMMENT ON COLUMN trial.settings IS 'Of this, what the machine did not hold already and had to be set.';
COMMENT ON COLUMN trial.why IS 'What proposed these settings, in words.';
COMMENT ON COLUMN trial.seed IS 'What the workload was told to differ by, as $SEED.';
COMMENT ON COLUMN trial.started IS 'When it began, by the clock of the host that ran rcp-tune.';
COMMENT ON COLUMN trial.wall_s IS 'How long it took, in seconds of the host''s clock, setting knobs and putting them back included.';
COMMENT ON COLUMN trial.workload_s IS 'How long the workload ran, in seconds of the clock it was measured with: virtual in the lab.';
COMMENT ON COLUMN trial.objective IS 'What there is to be more of; NULL when the trial failed.';
COMMENT ON COLUMN trial.failed IS 'Why there are no figures; empty when there are.';
COMMENT ON COLUMN trial.recording IS 'The recording made of the trial, if one was.';
