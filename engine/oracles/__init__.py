"""Judging: from the outcomes of one case to a verdict with a reason."""
