"""Answers to compare with: baseline files, saved runs, TREC runs, and other commits."""
