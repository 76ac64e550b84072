CREATE TABLE verdict (
    key VARCHAR PRIMARY KEY,
    value JSON NOT NULL
);
COMMENT ON TABLE verdict IS 'What the study came to: verdict, winner, runner-up, ablation, drift.';
COMMENT ON COLUMN verdict.key IS 'Which part.';
COMMENT ON COLUMN verdict.value IS 'The part, in JSON.';
