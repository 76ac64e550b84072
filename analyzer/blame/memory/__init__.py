"""Pages that left memory: which reads are of them, and who filled the memory."""
