"""whorl beside its neighbours: speed, quality, memory, latency and behaviour, measured in one run.

Run from the root of a checkout: ``python -m benchmarks --help``. README.md beside this file is the contract.
"""
