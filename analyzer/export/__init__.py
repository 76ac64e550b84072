"""Exports to other tools' formats: Perfetto, folded stacks, speedscope, Parquet."""
