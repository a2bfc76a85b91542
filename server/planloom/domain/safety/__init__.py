"""What is dangerous, by names and words alone: protected paths, destructive requests, approval policy."""
