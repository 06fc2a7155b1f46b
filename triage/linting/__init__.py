"""The linter of reports: a tracker's published rules, asked before anything is filed.

`rules` is the table. `of_script`, `of_numbers` and `of_inputs` read the script's syntax tree
(`script`, `indices`), `of_report` the words,
`of_runs` and `of_records` what is on record. `labels` proposes
labels. `service.lint_report` asks every rule.
"""
