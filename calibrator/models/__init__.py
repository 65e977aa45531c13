"""Models: what answers a prompt. One small protocol, a file for each backend, a small class for each wrapper."""
