"""What a step is besides its work: its condition, the steps that a loop stands for, and the yes of a gate.

Read `conditions`, then `loops` and `gates`.
"""
