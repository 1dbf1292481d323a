"""The error of a damaged answer, apart from the port: checks of a config need no port."""


class BadFrameError(ValueError):
    """A damaged or unexpected answer; raised by its decoder."""
