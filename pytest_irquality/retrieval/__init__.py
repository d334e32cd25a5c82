"""Retrieval: run queries on whatever the retriever fixture is, and read what it returns.

``collect.collect_run`` makes a run, and everything else here serves it. Import from the modules, as
the plugin does: this package imports nothing by itself.
"""
