"""Comparison with the real kube-scheduler, decision by decision."""
