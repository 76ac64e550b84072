"""From segments to inversions: who is suspected, what else explains the wait, how sure it is."""
