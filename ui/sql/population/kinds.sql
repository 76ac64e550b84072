SELECT role, name, count(*) AS n
FROM digest.request
GROUP BY role, name
ORDER BY n DESC, role, name
