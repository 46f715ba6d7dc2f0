"""The scheduler cache (truth) and its columnar snapshot (what a cycle reads)."""
