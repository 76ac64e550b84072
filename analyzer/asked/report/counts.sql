-- Foreground requests that ended, and those that did not.
SELECT count(dur), count(*) - count(dur)
FROM request
JOIN task USING (utid)
WHERE role = 'foreground'
