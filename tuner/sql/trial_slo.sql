CREATE TABLE trial_slo (
    trial_id INTEGER NOT NULL,
    slo VARCHAR NOT NULL,
    value_ns BIGINT NOT NULL,
    bound_ns BIGINT NOT NULL,
    n_requests BIGINT NOT NULL,
    n_beyond BIGINT NOT NULL,
    PRIMARY KEY (trial_id, slo)
);
COMMENT ON TABLE trial_slo IS 'The quantile an SLO is about, as a trial measured it.';
COMMENT ON COLUMN trial_slo.trial_id IS 'The trial.';
COMMENT ON COLUMN trial_slo.slo IS 'The SLO as it was written, for instance p999=50ms@fsync.';
COMMENT ON COLUMN trial_slo.value_ns IS 'The measured quantile, in ns.';
COMMENT ON COLUMN trial_slo.bound_ns IS 'What the SLO allows, in ns.';
COMMENT ON COLUMN trial_slo.n_requests IS 'Requests the quantile was taken of.';
COMMENT ON COLUMN trial_slo.n_beyond IS 'Requests beyond the quantile: below ten it rests on few.';
