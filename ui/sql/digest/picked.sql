-- The requests of a wait-for graph: those of digest.chosen that took at least least_ ns and, unless
-- pattern_ is NULL, have inversions of this pattern.
CREATE MACRO digest.picked(role_, kind_, least_, pattern_) AS TABLE
SELECT *
FROM digest.chosen(role_, kind_)
WHERE dur >= least_
  AND (
      pattern_::BIGINT IS NULL
      OR request_id IN (SELECT request_id FROM digest.request_pattern WHERE pattern_id = pattern_)
  )
