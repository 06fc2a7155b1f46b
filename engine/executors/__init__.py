"""Running cases on the frameworks: lowering, worker pool, modes, NumPy reference."""
