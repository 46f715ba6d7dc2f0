"""A cluster behind an API server: how it is reached, listened to and written to."""
