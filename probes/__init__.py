"""The recorder: BPF probes, ring buffer drain, spool; nothing here knows DuckDB."""
