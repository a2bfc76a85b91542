"""Language models behind one port.

Start with `port`, then `http/http_model` and `http/adapter`. A new provider is a module in `providers` and a row in
`planloom.providers`.
"""
