"""Builders, sample clusters and the conformance suite, for tests of nodewise and of plugins."""
