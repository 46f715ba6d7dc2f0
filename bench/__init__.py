"""Timings against the real kube-scheduler and against the clock."""
