"""Devices: which ones a claim can get on a node, as kube-scheduler's structured allocator decides it."""
