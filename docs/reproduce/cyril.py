"""Cyril, Jaar and Misra 1993: capture of a payload by a flexible arm. Writes its page and picture.

With --check it compares the page with what it would write, and writes nothing. Takes seconds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cyril_runs import (
    ARM,
    BRAKE,
    HELD,
    HELD_SECONDS,
    POSTURE,
    REACH,
    SECONDS,
    SIZE,
    Motion,
    Scenario,
    first_frequencies,
    legs,
)
from written_page import write_or_compare

PAGE = Path(__file__).with_suffix(".md")
PICTURE = PAGE.parent.parent / "images" / "reproduce_cyril.png"


def impact_rows(scenario: Scenario) -> list[str]:
    """The speeds right after the contact."""
    rows = []
    for one in scenario.contacts():
        for locked in (False, True):
            v, lost, made = scenario.caught(one, locked=locked)
            change = v - one.velocity
            turned = ", ".join(f"{_rounded(math.degrees(change[k]), 3)}" for k in scenario.at)
            bent = ", ".join(f"{_rounded(1e3 * change[k], 1)}" for k in scenario.bends)
            base = "locked" if locked else "free"
            rows.append(f"| {one.name} | {base} | {turned} | {bent} | {_rounded(lost, 1)} | {_rounded(made, 0)} |")
    return rows


def _rounded(value: float, digits: int) -> str:
    """Without a sign for zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def motions_after(scenario: Scenario) -> dict[str, Motion]:
    """What follows in the time after it."""
    motions = {}
    for one in scenario.contacts():
        for locked in (False, True):
            motion = scenario.follow(one, locked=locked)
            motions[f"{one.name}, {'locked' if locked else 'free'}"] = motion
    return motions


def draw(motions: dict[str, Motion]) -> None:
    """Figs. 3 and 4 in our numbers: soft and hard, base free."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(9, 7.5), sharex=True, layout="constrained")
    for column, case in enumerate(("1", "2")):
        for kind, style in (("soft", "-"), ("hard", "--")):
            motion = motions[f"{case}, {kind}, free"]
            for k, name in enumerate(("shoulder", "elbow", "wrist")):
                axes[0, column].plot(
                    motion.time, np.degrees(motion.joints[:, k]), style, color=f"C{k}", label=f"{name}, {kind}"
                )
            for k, name in enumerate(("upper", "lower")):
                axes[1, column].plot(
                    motion.time, 1e3 * motion.bends[:, k], style, color=f"C{k}", lw=0.8, label=f"{name}, {kind}"
                )
            axes[2, column].plot(motion.time, np.degrees(motion.turn), style, color="C0", label=kind)
        axes[0, column].set_title(f"Case {case}")
        axes[2, column].set_xlabel("time after the capture [s]")
    for row, label in enumerate(
        ("turn of the joints [deg]", "deflection of the booms [mm]", "turn of the craft [deg]")
    ):
        axes[row, 0].set_ylabel(label)
        axes[row, 1].legend(fontsize=7, ncols=2)
        for one in axes[row]:
            one.grid(visible=True, alpha=0.3)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def page(scenario: Scenario, motions: dict[str, Motion]) -> str:
    """Its text."""
    contacts = {one.name: one for one in scenario.contacts()}
    lost = {name: scenario.caught(one)[1] for name, one in contacts.items()}
    turned = {name: math.degrees(float(np.abs(motion.joints).max())) for name, motion in motions.items()}
    craft = {name: math.degrees(float(np.abs(motion.turn).max())) for name, motion in motions.items()}
    braked = scenario.follow(contacts["2, hard"], brake=BRAKE, seconds=HELD_SECONDS)
    held = {name: scenario.follow(contacts[name], brake=HELD) for name in ("2, soft", "2, hard")}
    bent = {name: 1e3 * float(np.abs(motion.bends).max()) for name, motion in held.items()}
    one_mode, exact = first_frequencies(1)
    two_modes, _ = first_frequencies(2)
    deflection, whole, first_hit = legs()
    half = (
        scenario.caught(contacts["2, hard"], restitution=0.5)[1],
        scenario.caught(contacts["2, hard"], restitution=1.0)[1],
    )
    fixed = scenario.follow(contacts["2, hard"], brake=HELD, locked=True)
    compared = [
        ("(36)", "J_1 + R_bc J_2", "J_1 - R_bc J_2: G of (38) is symmetric and equals the mass matrix of a tree that "
         "has the payload, to 1e-11", "a sign", "a misprint: A^-T J; as printed G is not symmetric"),
        ("(1)-(2)", "attitude of the spacecraft, no translation", "six speeds of the base; momentum is kept to 1e-9",
         "-", "without the translation linear momentum is not kept. Case 2, hard, joints that stop at the contact: the "
         f"craft moves by {held['2, hard'].way[-1]:.2f} m in {SECONDS:g} s, and not at all with the lock; the booms "
         f"bend by up to {bent['2, hard']:.0f} mm, with the lock {1e3 * float(np.abs(fixed.bends).max()):.0f} mm"),
        ("4, geometry", "0.5 rpm and 0.052 m/s at the point of contact", f"{REACH:.3f} m from the axis", "-",
         "computed: the distance is not printed"),
        ("4, case 1 and 2, soft", "velocities of effector and contact point the same in size and direction",
         f"energy lost {_rounded(lost['1, soft'], 1)} and {_rounded(lost['2, soft'], 1)} J: no impact at all", "-",
         f"if the effector turns with the payload, of which the text says nothing; if it does not turn, "
         f"{lost['1, soft, effector does not turn']:.1f} J in case 1"),
        ("4, case 1, hard", "0.1 m/s at 22.7 degrees to the tangential velocity, 0.052 m/s",
         f"{lost['1, hard']:.1f} J lost; joints turn by up to {turned['1, hard, free']:.0f} degrees in "
         f"{SECONDS:g} s, soft {turned['1, soft, free']:.0f}", "none in what is said",
         "the contact point of the payload takes that velocity; its spin stays 0.5 rpm"),
        ("4, case 2, hard", "effector 0.1 m/s, payload 0.25 m/s, same direction",
         f"{lost['2, hard']:.1f} J lost; joints turn by up to {turned['2, hard, free']:.0f} degrees in "
         f"{SECONDS:g} s, soft {turned['2, soft, free']:.0f}", "none in what is said",
         "both move along the wrist, towards the craft: else they would not meet"),
        ("4, Figs. 3 and 4", '"significantly different" responses of soft and hard; small differences of the relative '
         'velocity give "entirely different" ones', "case 2: joints turn "
         f"{turned['2, hard, free'] / turned['2, soft, free']:.1f} times as far, the craft "
         f"{craft['2, hard, free'] / craft['2, soft, free']:.1f} times; case 1: "
         f"{turned['1, hard, free'] / turned['1, soft, free']:.2f} and "
         f"{craft['1, hard, free'] / craft['1, soft, free']:.2f} times", "case 1 differs less than the text says",
         "the curves were not at hand, and the arm's numbers are not printed"),
        ("4", '"relatively large joint and elastic displacements"', "free joints: booms bend by up to "
         f"{1e3 * float(np.abs(motions['2, hard, free'].bends).max()):.1f} mm; joints that stop at the contact: "
         f"{bent['2, hard']:.0f} mm, soft {bent['2, soft']:.0f} mm", "large only if the joints are held",
         "the text does not say what the joints do after the impact; during it no torque acts"),
        ("3", "plastic to elastic collisions", f"case 2, hard, e = 0, 0.5, 1: {lost['2, hard']:.2f}, {half[0]:.2f}, "
         f"{_rounded(half[1], 2)} J lost", "-", "(1 - e^2) of the plastic loss; of e the text has no value"),
        ("1", "latch, then rigidise", "end at the same speeds and lose together as much as both at once", "-",
         "holding the point first, then the turn too, at one place; in the loop, with a latch that gives: "
         "[sim_capture](../how-to/capture.md)"),
        ("5", '"we will present the control" later', f"joints braked by {BRAKE:g} N m s/rad: the fastest slows from "
         f"{math.degrees(float(braked.rates[0])):.1f} to {math.degrees(float(braked.rates[-1])):.3f} degrees/s in "
         f"{HELD_SECONDS:g} s, largest torque {BRAKE * float(braked.rates[50:].max()):.0f} N m after 1 s", "-",
         "a brake of the joints' speed, the simplest control"),
        ("beam theory", "-", f"first frequency with payload and joints held: {one_mode:.4f} Hz with one mode a boom, "
         f"{two_modes:.4f} Hz with two", f"{1e2 * (one_mode / exact - 1.0):.1f} %, "
         f"{1e2 * (two_modes / exact - 1.0):.2f} %",
         f"finite elements: {exact:.4f} Hz. The shapes are those of the bare arm"),
        ("MacMahon 2016, Fig. 6-4", "200 N on a leg of the RCP give up to about 4 mm", f"{deflection:.1f} mm",
         "none: taken from it", f"T_c at 60 degrees {whole:.4f} J, of which the first hit on steel spends "
         f"{first_hit:.4f} J: wheels, and the share of the legs that moves with them"),
    ]  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in compared)
    impacts = "\n".join(impact_rows(scenario))
    mass, EI = ARM.spacecraft_mass, (ARM.upper.bending_stiffness, ARM.lower.bending_stiffness)
    lengths, share = (ARM.upper.length, ARM.lower.length), 1e2 * ARM.upper.damping_ratio
    posture = ", ".join(f"{angle:g}" for angle in POSTURE)
    residue = max(motion.residue for motion in motions.values())
    return f"""# Cyril, Jaar and Misra 1993: capture of a payload by a flexible arm

Written by `python docs/reproduce/cyril.py`. The paper's text was at hand, its curves were not. It prints the
mass ratio of 10, the speeds, and that the arm is like the SRMS; its numbers are in another paper. All else is assumed
(`models.rover.space_arm`): a craft of {mass:g} kg, booms of {lengths[0]:g} and {lengths[1]:g} m with EI {EI[0]:g} and
{EI[1]:g} N m^2 and {share:g} % damping, joints at {posture} rad, the payload a cube of {SIZE[0]:g} m. The craft is at
rest before the contact. `models.impact.capture` has the impact, `models.rover.flexible` the booms, one mode each
(`rover.space_arm.upper_modes`).

| where | quoted | ours | difference | why |
|---|---|---|---|---|
{table}

![Joints, booms and craft after the capture, soft and hard, joints free](../images/reproduce_cyril.png)

## Right after a plastic contact
Changes of the speeds of shoulder, elbow and wrist, and of the booms' ends. The base's translation is free, or locked as
printed.

| case | base | joints [deg/s] | booms [mm/s] | energy lost [J] | linear momentum made [N s] |
|---|---|---|---|---|---|
{impacts}

With free joints the arm folds, and little of the impulse comes to the craft: there the lock hardly matters. In the
{SECONDS:g} s after it the steps make at most {residue:.0e} of the energy.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and its picture, or compare the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    scenario = Scenario(ARM)
    motions = motions_after(scenario)
    if not check:
        draw(motions)
    return write_or_compare(PAGE, page(scenario, motions), check=check)


if __name__ == "__main__":
    raise SystemExit(main())
