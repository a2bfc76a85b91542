"""Bytes and JSON-RPC: framing, malformed messages, and requests of the server to the client.

Two modules lean on the insides of libraries: `pygls_private` lists the private names of pygls in use, and
`deferred_types` makes the classes of lsprotocol when they are first used, which halves the time to start.
"""
