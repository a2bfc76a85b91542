"""Tools that search names and contents."""
