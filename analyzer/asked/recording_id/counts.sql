-- Numbers of the records that requests are explained by.
SELECT
    (SELECT count(*) FROM sleep),
    (SELECT count(*) FROM io),
    (SELECT count(*) FROM lock_wait),
    (SELECT count(*) FROM journal_commit),
    (SELECT count(*) FROM throttle)
