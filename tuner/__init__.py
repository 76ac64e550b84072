"""The tuner: SLOs, knobs, trials."""
