"""What it takes to start: the server until its first answers and plan, a command until its files and its exit."""
