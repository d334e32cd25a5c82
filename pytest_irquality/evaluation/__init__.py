"""What suites and runs are evaluated to: comparisons, checks, notices and the decision."""
