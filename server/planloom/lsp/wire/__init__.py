"""Every message of the protocol as a pydantic model, and the conversions from and to the values of the domain.

docs/protocol.md is generated from these modules.
"""
