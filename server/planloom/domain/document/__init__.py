"""The plan as a Markdown document (`*.plan.md`) that people read, edit and keep.

Read `render` first: its docstring describes the form. `reader` finds the steps in a text, with the place of each part;
`difference` tells what the user has changed as edits of the plan.
"""
