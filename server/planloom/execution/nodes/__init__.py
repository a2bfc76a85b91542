"""What a step is besides its work: its condition. Read `conditions`."""
