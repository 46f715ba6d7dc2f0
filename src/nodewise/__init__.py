"""A Kubernetes scheduler in Python: live, offline, and as a library."""

__version__ = "0.1.0"
