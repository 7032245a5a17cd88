"""hermes-acp under the name of the module that clients may be configured for.

`python -m acp_adapter` starts the program; see __main__.py. There is nothing to import.
"""
