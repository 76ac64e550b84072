"""A fleet: one small summary per recording, and answers over the summaries of many hosts."""
