"""The measures, a family of kindred ones a file, each beside its definition."""
