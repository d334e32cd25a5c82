"""The base of ``--ir-baseline=run:REF``: the merge base's code answers today's suites.

It does so in a checkout and a process of its own.
"""
