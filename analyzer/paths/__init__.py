"""Critical paths: requests walked backwards through sleeps, wake-ups and ios."""
