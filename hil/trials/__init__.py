"""Impact trials: the state machine of one, campaigns of many, the rules of acceptance, and reports."""
