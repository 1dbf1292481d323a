"""State of each point where a wheel can touch the obstacle, as columns of one array."""

# A wheel touches at two points at most, the grousers on either side of the contact line (MacMahon 2016 6.2.4).
POINTS = 2
# Approach speed at onset [m/s], 0 while apart; depth [m], before the leg deflects, and its rate [m/s]; normal force
# [N]; angle alpha of a grouser above the contact line [rad], 0 of a smooth wheel; and in three columns, from the
# wheel's centre to the point [m], world axes.
ONSET_RATE, DEPTH, RATE, SHARE, LEAN, ARM = range(6)
COLUMNS = ARM + 3
