"""The tools that ask what language servers know of the code: symbols, references, renames and code actions."""
