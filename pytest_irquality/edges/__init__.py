"""What comes in and what goes out, once each: files, git, text that is printed."""
