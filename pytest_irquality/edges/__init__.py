"""Whatever comes in and goes out: files, git, JSON, text that is printed."""
