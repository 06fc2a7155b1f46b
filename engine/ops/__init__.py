"""The operator vocabulary, as tables. Importing the package completes `OPS`."""
