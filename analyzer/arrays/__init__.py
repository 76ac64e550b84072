"""What was recorded, as numpy columns: tasks, sleeps, ios, requests, and joins over them."""
