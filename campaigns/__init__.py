"""What is run: seeds, environments, campaigns, shards, mutants, executions, metrics."""
