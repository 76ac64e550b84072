"""How a spool is kept on disk: checksums, counts, facts; the spools of before."""
