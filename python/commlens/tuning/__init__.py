"""Finds the settings with which a benchmark is fastest here.

What may be set is data (knowledge/settings, read by space.py, and what the installed libraries
list, library/). situation.py decides which of it applies, trial.py measures one launch, search.py
decides what to try next, finals.py whether the best is better than the default, and fix.py writes
the result.
"""
