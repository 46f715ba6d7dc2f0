"""CEL expressions about devices: parsed and type-checked by Google's library, evaluated as Kubernetes does it."""
