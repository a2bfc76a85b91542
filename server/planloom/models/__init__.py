"""Language models: one port (`port`), whoever answers. Imported by `agent`, `planning`, `intake` and
`service`.

Read `port`, then `http/http_model` and `http/adapter`. A new provider is a module in `providers` and a row
in `providers/catalog`.
"""
