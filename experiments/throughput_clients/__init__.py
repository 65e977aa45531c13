"""The clients of `throughput.py`, each run in a fresh interpreter; what other packages need stands beside ours."""
