"""The part of the recorder that other folders may import: records, the spool, names, units."""
