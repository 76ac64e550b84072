-- Number of foreground requests that finished, and of those that did not.
SELECT count(dur), count(*) - count(dur)
FROM request
JOIN task USING (utid)
WHERE role = 'foreground'
