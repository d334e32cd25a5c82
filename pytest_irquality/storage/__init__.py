"""What is kept and read back: run files, TREC, shards, baselines, kept runs."""
