-- The patterns of inversions, numbered: grouping by five texts takes four times as long. Their
-- number is the #1, #2 … of the report.
CREATE TABLE digest.pattern AS
SELECT rank AS pattern_id, * EXCLUDE (rank)
FROM "asked/pattern/numbered"
