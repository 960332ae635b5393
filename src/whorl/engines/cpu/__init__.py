"""Steps on processors, compiled by Numba."""
