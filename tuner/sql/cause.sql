CREATE TABLE cause (
    trial_id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    culprit VARCHAR NOT NULL,
    chain VARCHAR NOT NULL,
    slow_share DOUBLE NOT NULL,
    PRIMARY KEY (trial_id, rank)
);
COMMENT ON TABLE cause IS 'What held up the requests of a trial that was recorded: inversion patterns.';
COMMENT ON COLUMN cause.trial_id IS 'The trial.';
COMMENT ON COLUMN cause.rank IS 'From 1, the worst first.';
COMMENT ON COLUMN cause.kind IS 'Kind of inversion.';
COMMENT ON COLUMN cause.culprit IS 'Whose work it was.';
COMMENT ON COLUMN cause.chain IS 'Through which chain of waits.';
COMMENT ON COLUMN cause.slow_share IS 'Share of the time of the slowest 1 % of requests.';
