"""From a suite to results and written files, without pytest."""
