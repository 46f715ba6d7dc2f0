"""Where objects come from: files now, an API server later."""
