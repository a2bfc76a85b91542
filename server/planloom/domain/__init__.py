"""Values and rules without input or output. Imported by every room; imports none.

Read `plans/plan` and `events/catalog` first, then `events/lifecycle`, which folds an event into a plan.
"""
