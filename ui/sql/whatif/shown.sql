-- The requests of a role and kind that a screen shows.
SELECT request_id
FROM digest.chosen($1, $2)
ORDER BY request_id
