"""Do intervals cover and tests reject as often as they say? Simulated at the sizes that occur.

Each room with intervals or tests has a module here with a list `SIMULATIONS`. Its tests
(`tests/<room>/test_coverage_*.py`) run them a few hundred times; `python -m benchmarks.coverage` runs them in full and
writes `src/helpers/<room>/coverage.csv`, which the report's methods page shows.
"""
