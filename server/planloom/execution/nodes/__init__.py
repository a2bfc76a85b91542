"""The parts of a step besides its work: its condition, the steps that it stands for, the approval at a gate.

Read `conditions`, then `loops`, `sub_plans` and `gates`.
"""
