"""The language server: the protocol and nothing else. No other package imports it.

Read `methods` (the catalogue of methods), then `connection`. `wire` has the messages as models, `handlers` one function
for each method, `editor` the server's requests to the client, `transport` the bytes and JSON-RPC.
"""
