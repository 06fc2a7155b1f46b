"""What was found: findings, buckets, evidence, reports, trackers."""
