"""What runs in the framework's interpreter: stands alone, Python 3.9, NumPy and one framework."""
