"""A judgement as text, JUnit, GitHub annotations, pictures. Pure."""
