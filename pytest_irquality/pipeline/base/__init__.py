"""``--ir-baseline=run:REF``: today's suites answered by the code of the merge base, in a checkout
and process of its own.
"""
