"""Tensor types, graphs and cases: the data that everything else works on. Knows no operator."""
