-- Which threads' work each io is: its parts add up to 1.
SELECT io_id, utid, share::DOUBLE AS share, kind = 'journal' AS is_journal,
    role = 'kernel' AS is_kernel
FROM io_blame
