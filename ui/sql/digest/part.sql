-- All parts, kept: the graph of all requests and each click in it ask for them again. About 20 bytes
-- of memory for each.
CREATE TABLE digest.part AS
SELECT *
FROM digest.parts('', NULL, 0, NULL)
