"""Models of what each kind of wait loses without a culprit."""
