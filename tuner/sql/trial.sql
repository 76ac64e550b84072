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
COMMENT ON COLUMN trial.phase IS 'Purpose: baseline, search, confirm, record (of the causes), ablation or again (later runs of the winner).';
COMMENT ON COLUMN trial.asked IS 'Proposed settings, by knob; other knobs kept their values.';
COMMENT ON COLUMN trial.settings IS 'Proposed settings that differed from the machine''s values and were set.';
COMMENT ON COLUMN trial.why IS 'Reason for these settings.';
COMMENT ON COLUMN trial.seed IS 'Seed of the workload, passed as $SEED.';
COMMENT ON COLUMN trial.started IS 'Start of the trial, by the clock of the host that ran rcp-tune.';
COMMENT ON COLUMN trial.wall_s IS 'Duration in seconds of the host''s clock, including setting and restoring knobs.';
COMMENT ON COLUMN trial.workload_s IS 'Run time of the workload in seconds of the clock of the measurement: virtual in the lab.';
COMMENT ON COLUMN trial.objective IS 'The objective, more is better; NULL if the trial failed.';
COMMENT ON COLUMN trial.failed IS 'Why there are no figures; empty if there are.';
COMMENT ON COLUMN trial.recording IS 'Path of the recording of the trial, if any.';
