"""Carries approved plans out. Imported by `service`.

Read `plan_store` (an event is recorded, folded, written, published) and `conductor` (starts what is ready).
Steps run in `steps`; every effect on a file or a shell passes `effects/gate`; `prompting` keeps a step's
prompts within the context.
"""
