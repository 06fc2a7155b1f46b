"""Reproducers that somebody else wrote: read, run in isolation, judged, made into findings.

A module with `inputs` and a `function` is run in every mode of its framework; a plain script with
an assertion is run as it is. `docs/environments.md` says what isolates them, and what does not.
"""
