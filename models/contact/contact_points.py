"""State of each point where a wheel can touch the obstacle, as columns of one array."""

# A wheel touches at two points at most, the grousers on either side of the contact line (MacMahon 2016 6.2.4); at the
# rim between them, the third, where that counts.
POINTS = 3
RIM = 2
# Approach speed at onset [m/s], 0 while apart; depth [m], before the leg deflects, and its rate [m/s]; normal force
# [N]; angle alpha of a grouser above the contact line [rad], 0 of a smooth wheel; sine and cosine of the inclination of
# the plane that the point meets, at an edge not the plate's; in two columns how far its friction is stretched, up the
# plane and to port [m]; and in three, from the wheel's centre to the point [m], axes of the obstacle's stand.
ONSET_RATE, DEPTH, RATE, SHARE, LEAN, SINE, COSINE, STRETCH = range(8)
ARM = STRETCH + 2
COLUMNS = ARM + 3
