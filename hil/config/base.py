"""What all parts of a rig config share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

# Of a port's number in a pattern: 0 to 65535.
PORT = r"([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"


class Section(BaseModel):
    """A frozen part of the config: no unknown keys, no text for numbers, no NaN or infinity."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        revalidate_instances="always",
    )
