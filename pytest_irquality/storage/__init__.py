"""Runs as they are kept and read back: files of ours and TREC's, shares, baselines."""
