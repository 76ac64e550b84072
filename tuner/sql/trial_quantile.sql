CREATE TABLE trial_quantile (
    trial_id INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    quantile DOUBLE NOT NULL,
    value_ns BIGINT NOT NULL,
    PRIMARY KEY (trial_id, kind, quantile)
);
COMMENT ON TABLE trial_quantile IS 'Latencies of a trial by request kind, at a fixed set of quantiles.';
COMMENT ON COLUMN trial_quantile.trial_id IS 'The trial.';
COMMENT ON COLUMN trial_quantile.kind IS 'Kind of request.';
COMMENT ON COLUMN trial_quantile.quantile IS 'Share of requests that took no longer; 1 is the slowest.';
COMMENT ON COLUMN trial_quantile.value_ns IS 'Latency, in ns.';
