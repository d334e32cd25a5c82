"""How a person or a program is told: terminal text, HTML and JSON, all drawn from
``SuiteResult``.
"""
