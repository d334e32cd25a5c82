"""Suites: their files, keys, queries, judgments, rules and thresholds."""
