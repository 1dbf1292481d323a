"""One narrow interface per device kind: no control logic and no physics."""
