"""Motions as data: from a rover's geometry to wheel speeds and joint angles over time.

geometry    where the wheels are at given joint angles, and which joints steer and walk
steering    angles of the steering joints for a motion of the body in the plane
walking     angles of the walking joints for a change of height
rolling     speeds of the drives that go with a motion of body and joints, and what has to slip
route       way points as lines, turns and arcs
timeline    a programme of motions and gaits as set-points over time
playback    what it sets at a time, for a tick
"""
