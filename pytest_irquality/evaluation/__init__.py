"""Evaluation of runs against suites: comparisons, checks, notices and the decision."""
