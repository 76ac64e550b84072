CREATE TABLE cause (
    trial_id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    culprit VARCHAR NOT NULL,
    chain VARCHAR NOT NULL,
    slow_share DOUBLE NOT NULL,
    PRIMARY KEY (trial_id, rank)
);
COMMENT ON TABLE cause IS 'Inversion patterns that delayed the requests of a recorded trial.';
COMMENT ON COLUMN cause.trial_id IS 'The trial.';
COMMENT ON COLUMN cause.rank IS 'From 1, the worst first.';
COMMENT ON COLUMN cause.kind IS 'Kind of inversion.';
COMMENT ON COLUMN cause.culprit IS 'The process or thread whose work caused the delay.';
COMMENT ON COLUMN cause.chain IS 'The chain of waits.';
COMMENT ON COLUMN cause.slow_share IS 'Share of the time of the slowest 1 % of requests, 0..1.';
