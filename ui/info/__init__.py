"""The screens' data as plain tuples: queries only, no drawing."""
