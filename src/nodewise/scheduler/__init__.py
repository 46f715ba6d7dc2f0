"""The story of one pod, and how a configuration becomes plugins."""
