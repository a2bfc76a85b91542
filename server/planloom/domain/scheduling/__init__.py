"""Which steps of a running plan may start next. `directives` is the rule, `schedule` keeps its answer up to
date.
"""
