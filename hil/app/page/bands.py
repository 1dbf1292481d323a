"""The values that the limits of a rig allow a series."""

from __future__ import annotations

from hil.config.schema.equipment import LimitsConfig

Band = tuple[float | None, float | None]


def band(series: str, limits: LimitsConfig) -> Band | None:
    """Lowest and highest value that the limits allow a series, in its unit; None: no limit is about it.

    Args:
        series: its name.
        limits: of the rig.
    """
    field = series.partition("/")[0]
    torque, speed = limits.bogie_torque_Nm, limits.wheel_speed_radps
    force_N, pressure_Pa = limits.sensor_force_N, limits.cylinder_kPa * 1e3
    bands: dict[str, Band] = {
        "daq_age_ns": (None, limits.daq_age_ms * 1e6),
        "load_age_ns": (None, limits.loads_age_ms * 1e6),
        **dict.fromkeys(("set_speed_radps", "wheel_speed_radps"), (-speed, speed)),
        **dict.fromkeys(("cylinder_torque_Nm", "torque_wanted_Nm"), (-torque, torque)),
        **dict.fromkeys(("pressure_Pa", "pressure_wanted_Pa", "regulator_Pa"), (None, pressure_Pa)),
    }
    if force_N is not None:
        bands["force_N"] = (None, force_N)
    if (current_A := limits.motor_current_A) is not None and current_A.safe_above is not None:
        bands["current_A"] = (-current_A.safe_above, current_A.safe_above)  # of its magnitude
    if (supply_V := limits.supply_V) is not None:
        bands["supply_V"] = (supply_V.safe_below, supply_V.safe_above)
    if (gauge_kPa := limits.pressure_kPa) is not None and gauge_kPa.safe_above is not None:
        bands["pressure_Pa"] = (None, gauge_kPa.safe_above * 1e3)
    return bands.get(field)
