"""What every HTTP provider shares: one hostile-proof transport, deadlines, retries, keys, sentences for
failures.
"""
