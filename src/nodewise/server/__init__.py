"""The live process: a scheduler for a real cluster."""
