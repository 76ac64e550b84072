"""What the screens show, as plain tuples: queries only, no drawing."""
