"""Extenders: the protocol against a real HTTP server, and the decisions that come of it."""
