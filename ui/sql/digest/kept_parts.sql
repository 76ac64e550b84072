-- The same parts, once digest.part has them.
CREATE OR REPLACE MACRO digest.parts(role_, kind_, least_, pattern_) AS TABLE
SELECT part.*
FROM digest.part AS part
JOIN (SELECT request_id FROM digest.picked(role_, kind_, least_, pattern_)) AS picked
    USING (request_id)
