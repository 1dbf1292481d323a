"""Slots of a row of `models.contact.ground.GroundContact.scratch`, one wheel; directions in base axes."""

FORWARD, ROLLING, SINKING, SIDEWAYS = 0, 1, 2, 3  # speeds [m/s]: of the centre ahead, of the rim, up, to the left
HEADING, LEFT = 4, 7  # unit vectors
NORMAL, COSINE, SINE, LIMIT = 10, 11, 12, 13  # normal force [N], its inclination, shear limit [N]
TRACTION, SIDE, DAMPING = 14, 15, 16  # forces [N], and their slope over speed times the step [kg]
UP = 17  # unit vector, the ground's normal; not kept for level ground
MODULUS = 20  # slip modulus of the soils under the wheel; kept only where the ground has regions
BULLDOZING = 21  # resistance of soil pushed ahead [N], against the heading
SCRATCH = 22
DUG = 2  # of a row of `GroundContact.shear`, after the displacements ahead and to the left
# Where slip changes to sliding speed [m/s]: no larger, or a standing wheel would lose its shear displacement.
SLOWEST = 1e-12
