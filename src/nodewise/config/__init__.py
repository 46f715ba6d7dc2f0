"""KubeSchedulerConfiguration v1: reading, defaulting, validation, and which plugins run where."""
