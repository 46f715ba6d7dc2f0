"""Kubernetes objects: decoding, quantities, selectors, defaults, validation."""
