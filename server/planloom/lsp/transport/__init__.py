"""Bytes and JSON-RPC: framing, malformed messages, requests of ours, and the private parts of pygls that we
use.
"""
