"""What a recording costs its machine, and how it is bounded."""
