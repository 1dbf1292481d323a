"""Values of a config that are each allowed but not together."""
