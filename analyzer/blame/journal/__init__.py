"""Of waits for the journal: whose changes it writes, and what it would not do without suspects."""
