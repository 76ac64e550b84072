-- The options of the filters, each with its number of inversions.
SELECT 'kind', kind, count(*) AS n FROM inversion GROUP BY kind
UNION ALL
SELECT 'culprit', culprit, count(*) FROM inversion GROUP BY culprit
UNION ALL
SELECT 'cgroup', cgroup_id::VARCHAR, count(*)
FROM inversion
JOIN task ON task.utid = culprit_utid
WHERE cgroup_id <> 0
GROUP BY cgroup_id
ORDER BY ALL
