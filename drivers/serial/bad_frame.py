"""The error of a damaged answer, and how many are allowed; apart from the port: checks of a config need no port."""

# So many of the last ten messages of a device may be damaged: row 14 of the fault table.
DAMAGED_ALLOWED = 2
LOOKED_AT = 10


class BadFrameError(ValueError):
    """A damaged or unexpected answer; raised by its decoder."""
