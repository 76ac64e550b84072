"""From a spool to a store: arrays, critical paths, verdicts, tables."""
