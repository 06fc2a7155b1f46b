"""Mutation operators as tables, and the edits they are made of."""
