"""The base class of every part of a rig config, and the description of a wrong key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

# Pattern of a port number: 0 to 65535.
PORT = r"([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# Pattern of a device server: HOST:PORT, or "" for this computer.
SERVER = rf"^(|[A-Za-z0-9.-]+:{PORT})$"
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(strict=False)]


class Section(BaseModel):
    """A frozen part of the config: no unknown keys, no text for numbers, no NaN or infinity.

    Attributes:
        between_runs: keys that an operator may change between two runs (`hil.config.operator_settings`); "*": all keys.
            A key that decides about devices, the shape of a record, limits, or who may operate is not among them.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        revalidate_instances="always",
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; with other values it is checked like a new section. `Config.replace` takes dotted keys.

        Raises:
            pydantic.ValidationError: a value that is not allowed.
        """
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).model_validate({**given, **update})

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            changed = f"config.replace({{'....{name}': {value!r}}})"
            raise AttributeError(f"{name}: a config does not change; {changed} makes another one, and checks it")
        super().__setattr__(name, value)


class Problem(NamedTuple):
    """One wrong key.

    Attributes:
        key: path of the key, dotted.
        found: the value found.
        allowed: the values allowed.
        depends_on: other keys that the check depends on.
    """

    key: str
    found: str
    allowed: str
    depends_on: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.key}: found {self.found}; allowed: {self.allowed}"
