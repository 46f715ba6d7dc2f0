"""Where pods wait: active, backing off, unschedulable or gated; nominations; what pods in flight miss."""
