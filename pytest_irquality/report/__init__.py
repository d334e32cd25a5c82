"""Reports for a person or a program: terminal text, HTML and JSON, drawn from ``SuiteResult``."""
