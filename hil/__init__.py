"""The controller of a rover test rig: a fixed-step loop between measured samples and gated commands."""

__version__: str  # of hil.version, which asks git in a checkout: when it is first wanted


def __getattr__(name: str) -> str:
    if name == "__version__":
        from hil.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
