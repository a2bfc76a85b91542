"""The events of a plan (`catalog`), and how each one changes the plan (`lifecycle`, which calls the `fold_…`)."""
