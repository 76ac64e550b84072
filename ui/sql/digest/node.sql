-- The keys of all nodes that a wait-for graph can have. As a type, for a number of one or two bytes
-- then stands for a key of some twenty letters, in millions of rows.
CREATE TYPE digest.node AS ENUM (
    SELECT node FROM digest.requester
    UNION
    SELECT task FROM digest.actor
    UNION
    SELECT ios FROM digest.actor
    UNION
    SELECT node FROM digest.waited
    UNION
    SELECT unnest(['task:unknown:?', 'io:unknown:?'])
    ORDER BY ALL
)
