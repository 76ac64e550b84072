CREATE TABLE trial_slo (
    trial_id INTEGER NOT NULL,
    slo VARCHAR NOT NULL,
    value_ns BIGINT NOT NULL,
    bound_ns BIGINT NOT NULL,
    n_requests BIGINT NOT NULL,
    n_beyond BIGINT NOT NULL,
    PRIMARY KEY (trial_id, slo)
);
COMMENT ON TABLE trial_slo IS 'The quantile of an SLO, as measured in a trial.';
COMMENT ON COLUMN trial_slo.trial_id IS 'The trial.';
COMMENT ON COLUMN trial_slo.slo IS 'The SLO as it was written, for instance p999=50ms@fsync.';
COMMENT ON COLUMN trial_slo.value_ns IS 'The measured quantile, in ns.';
COMMENT ON COLUMN trial_slo.bound_ns IS 'The bound of the SLO, in ns.';
COMMENT ON COLUMN trial_slo.n_requests IS 'Number of requests.';
COMMENT ON COLUMN trial_slo.n_beyond IS 'Requests beyond the quantile: with fewer than ten the SLO is neither met nor missed.';
