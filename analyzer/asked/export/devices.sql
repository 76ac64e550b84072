-- Block devices with ios or commits, and their names.
SELECT dev, coalesce(name, (dev >> 20) || ':' || (dev & 1048575))
FROM (SELECT DISTINCT dev FROM io UNION SELECT DISTINCT dev FROM journal_commit)
LEFT JOIN device USING (dev)
