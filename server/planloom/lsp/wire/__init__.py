"""Every message of the protocol as a model, and the conversion from and to the values of the domain.

docs/protocol.md is generated from these modules.
"""
