"""The force that arming predicts against that of simulated trials, as a table over the range of its inputs.

Run: python docs/figures/predicted_force.py    (two minutes; prints the table of docs/explanation/limits.md)
"""

from __future__ import annotations

from outputs import outputs

from hil.app.run import run
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.predicted_force import predicted_force

ANGLES_DEG = (40, 60, 90)
QUIET = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.06", "trial.settle_s=0.5", "trial.ramp_s=0.4",
    "record.after_s=0.4", "limits.wheel_speed_radps=2", "limits.impact_speed_mps=0.2", "limits.sensor_force_N=null",
)  # fmt: skip
CASES = {
    "as shipped": (),
    "30 mm/s": ("trial.speed_mps=0.03",),
    "150 mm/s": ("trial.speed_mps=0.15",),
    "legs of 20 kN/m": ("obstacle.leg_stiffness_Npm=2e4",),
    "legs of 200 kN/m": ("obstacle.leg_stiffness_Npm=2e5",),
    "legs of 1 MN/m": ("obstacle.leg_stiffness_Npm=1e6", "plant.substep_us=20", "daq.range_V=20"),
    "a spring each leg": ("obstacle.legs=each", "obstacle.exponent=1.5"),
    "Hertz contact": ("obstacle.law=hertz", "obstacle.exponent=1.5", "obstacle.leg_stiffness_Npm=1e6"),
    "22 grousers": ("wheel.grousers=22",),
    "firm ground": ("ground.kind=firm",),
    "rigid ground": ("ground.kind=rigid",),
    "40 kg of payload": ("rover.payload={mass_kg: 40, x_m: 0.3, z_m: 1.0}",),
    "2 deg askew": ("plant.veer.heading_deg=2",),
    "cut 10 ms later": ("links.drives_delay_ms=10",),
    "cut 30 ms later": ("links.drives_delay_ms=30",),
    "the same, 200 kN/m": ("links.drives_delay_ms=30", "obstacle.leg_stiffness_Npm=2e5"),
    "cut 60 ms later": ("links.drives_delay_ms=60",),
    "cut 150 ms later": ("links.drives_delay_ms=150",),
    "by a person": ("trial.release=operator",),
    "after a set time": ("trial.release=timed",),
}


def cell(overrides: tuple[str, ...], angle_deg: float) -> tuple[float, float]:
    """Simulated and predicted peak on one wheel [N]."""
    config = load_config("sim_impact", [*QUIET, *overrides, f"trial.angle_deg={angle_deg}"])
    summary = run(config).summary
    return max(0.5 * summary["contact_force_peak_N"], summary["peak_force_N"]), predicted_force(Rig(config)).wheel_N


def main() -> None:
    """Print the table and the range of the ratios."""
    out = outputs(__doc__)
    angles, ratios = out.some(ANGLES_DEG), []
    rows = []
    for name, overrides in out.some(list(CASES.items())):
        cells = [cell(overrides, angle) for angle in angles]
        ratios += [predicted / found for found, predicted in cells]
        rows.append([name, *(f"{found:.0f}, {predicted:.0f}" for found, predicted in cells)])
    ratios.sort()
    median = ratios[len(ratios) // 2]
    page = "docs/explanation/limits.md"
    out.table(page, "predicted force", ["trial", *(f"{angle} deg" for angle in angles)], rows)
    text = f"Predicted over simulated: {ratios[0]:.2f} to {ratios[-1]:.2f}, with a median of {median:.2f}."
    out.put(page, "predicted over simulated", text)


if __name__ == "__main__":
    main()
