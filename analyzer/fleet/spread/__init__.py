"""One SQL statement over many recordings: found, asked by workers, and put together."""
