"""The loop: propose, try, confirm, and say which knob contributed what."""
