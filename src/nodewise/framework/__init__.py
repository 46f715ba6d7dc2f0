"""All that a plugin author imports: extension points, statuses, cycle state."""
