"""Making room for a pod: which nodes and which victims, for the plugin that asks."""
