"""What the agent has analysed: in a process of its own, so that the recorder stays small."""
