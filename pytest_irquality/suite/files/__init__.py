"""Queries and judgments that stand in files of their own: TREC, BEIR, Quepid, JSONL, CSV, TSV."""
