CREATE TABLE verdict (
    key VARCHAR PRIMARY KEY,
    value JSON NOT NULL
);
COMMENT ON TABLE verdict IS 'Result of the study: verdict, candidates, ablation, drift, predictions.';
COMMENT ON COLUMN verdict.key IS 'Name of the part.';
COMMENT ON COLUMN verdict.value IS 'The part, in JSON.';
