"""Values and pure rules, without input or output. Every other package may import it; it imports none of them.

Read `plans/plan` and `events/catalog` first, then `events/lifecycle`, which folds an event into a plan.
"""
