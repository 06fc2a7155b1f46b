"""Management commands: `up` starts the product, `work` runs shards in this process."""
