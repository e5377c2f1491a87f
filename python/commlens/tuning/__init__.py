"""Finds the settings with which a benchmark is fastest here.

What may be set, and where it applies, is data (knowledge/settings, read by space.py, and what the
installed libraries list, library.py). launches.py makes a launch and keeps what became of it,
search.py decides what to try next, finals.py whether the best is better than the default, and
fix.py writes the result.
"""
