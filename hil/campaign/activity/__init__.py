"""Energy, power and battery of a plan of activities: the purpose of 3DROV (Acary 2013, section 4)."""
