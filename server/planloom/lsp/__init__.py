"""The protocol: messages in and out, and nothing else. Nothing imports it.

Read `methods` (every method by name), then `connection`; `wire` has the messages as models, `handlers` one
function a method, `editor` what is asked of the client, `transport` the bytes below.
"""
