"""A drive with controlled wheel loads: how evenly the cylinders share the weight, against passive and the best."""
