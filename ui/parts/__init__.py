"""Parts of pages that are a question of their own, or that several screens have."""
