"""Executes approved plans.

Read `session` (what is true of the connection), `plan_store` (an event is numbered, folded, written, published) and
`conductor` (starts the steps that are ready). Steps run in `steps`, their commands in `commands`; every change of a
file and every command passes `effects/gate`; `prompting` fits a step's prompts into the model's context.
"""
