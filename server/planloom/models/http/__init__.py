"""Shared by all HTTP providers: a transport that bounds hostile answers, deadlines, retries, keys and failures."""
