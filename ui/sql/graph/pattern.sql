SELECT kind, culprit, role_rule, pattern, pattern_id
FROM digest.pattern
