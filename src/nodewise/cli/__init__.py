"""The command line: verbs, tables and documents."""
