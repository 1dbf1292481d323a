"""A drive over a step, a ledge or a slope: climbing, and dropping down."""
