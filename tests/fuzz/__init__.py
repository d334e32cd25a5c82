"""Inputs without end for every reader: ``python -m tests.fuzz N``."""
