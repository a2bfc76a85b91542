"""What a step is besides its work: its condition, and the steps that a loop stands for.

Read `conditions`, then `loops`.
"""
