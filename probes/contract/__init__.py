"""What other folders may import of the recorder: records, the spool, names and units."""
