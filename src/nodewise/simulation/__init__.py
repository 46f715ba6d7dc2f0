"""Clusters in this process: placing and explaining pods."""
