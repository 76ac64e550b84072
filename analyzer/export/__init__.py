"""A recording in other tools' formats: Perfetto, folded stacks, speedscope, Parquet."""
