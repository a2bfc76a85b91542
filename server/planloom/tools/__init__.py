"""The tools that plans and models call.

Start with `tool` and `catalog`. A new tool is one function and its declaration in the catalog.
"""
