"""Template tags and filters: how times, numbers and statuses are shown."""
