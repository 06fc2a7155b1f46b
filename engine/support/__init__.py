"""The support matrix: every operator in every form, dtype and mode, run and judged.

`cells` lists what there is to run, `survey` runs it, `store` keeps what was seen, `page` shows it,
`cli` is `flowmut support`.
"""
