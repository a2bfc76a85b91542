"""The tools that plans and models call. Imported by `agent`, `planning`, `execution`.

Start with `tool` and `registry`. A new tool is one module and one entry of the registry.
"""
