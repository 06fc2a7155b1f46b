"""Template tags of triage: navigation counts, Markdown, code."""
