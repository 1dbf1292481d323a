"""Strain gauges on the obstacle's frame, which 6.2.2 weighs and does not use, beside the force sensors."""

from __future__ import annotations

from typing import Literal

import numpy as np
from campaigns import GROUNDS, MARKS, QUIET, kept_by_rules, summaries
from scipy import stats
from trials import STUDY, Row, Section, new_figure, parameters

from hil.campaign.plan import expand, load_plan
from hil.config import Config

LINKS: tuple[Literal["rear", "bottom"], ...] = ("rear", "bottom")


def strain_gauges() -> Section:
    """6.2.2: the peaks of both sources over the plan of the laboratory, each trial that is kept."""
    figure, panels = new_figure(2)
    rows = [_strains()]
    for axes, link in zip(panels, LINKS, strict=True):
        attempts = _attempts(link)
        found = summaries(attempts)
        said = []
        for (ground, name), mark in zip(GROUNDS.items(), MARKS, strict=False):
            kept = []
            for (trial, config), one in zip(attempts.items(), found, strict=True):
                if kept_by_rules(one) and config.ground.kind == ground and one["strain_peak_N"] is not None:
                    forces = [float(one[key]) for key in ("peak_force_N", "strain_peak_N", "strain_peak_u95_N")]
                    STUDY.numbers[trial] += forces[1:]
                    kept.append([*forces, _with_friction(config, link)])
            piezo, strain, u95, rubbed = np.array(kept).reshape(-1, 4).T
            axes.errorbar(piezo, strain, u95, fmt=mark[0], capsize=2, lw=1, label=f"{name} soil")
            said.append(f"{name} soil: {_agreement(piezo, strain, u95)}")
            if link == "bottom":
                said.append(f"with friction of a sliding wheel: {_agreement(piezo, rubbed * strain, rubbed * u95)}")
        low, high = axes.get_xlim()
        axes.plot([low, high], [low, high], color="0.5", lw=1)
        axes.set(xlabel="peak by the force sensors [N]", ylabel="peak by strain gauges [N]", title=f"{link} links")
        axes.legend()
        rows.append(
            Row(
                f"6.2.2, strain gauges, {link} links",
                'strain gauges "were considered as back up indicators of force intensity if time and budget permit"; '
                "none were used, no comparison is printed",
                "; ".join(said),
                "nothing to compare with",
                _WHY[link],
            )
        )
    return Section(rows, {"strain_gauges": figure})


_WHY = {
    "rear": "by statics the links' part of the force goes with the place of the hit along the plate, which grousers "
    "and a wheel that climbs move: what 6.2.2 feared. An indicator of intensity, no second measurement",
    "bottom": "the part depends less on the place of the hit, but on friction: these wheels push and slide down the "
    "plate, so `daq.friction` 0 reads too little. It holds for a frame whose front foot slides; the thesis's was "
    "bolted down",
}


def _attempts(link: str) -> dict[str, Config]:
    """The first attempt of each trial of the plan, with gauges on those links."""
    given = parameters()["strain_gauges"]
    sets = [QUIET, f"loads={{strain_gauges: {{link: {link}}}}}", *(f"{key}={one}" for key, one in given["set"].items())]
    found = {}
    for trial in expand(load_plan(given["plan"]), parameters()["config"], sets)[:: given["every"]]:
        config = trial.attempt(1)[1]
        assert config.daq is not None
        daq = config.daq.model_copy(update={"sinkage_m": given["sinkage_m"][config.ground.kind]})
        found[f"trial strain gauges {link} {trial.number}"] = config.model_copy(update={"daq": daq})
    return found


def _with_friction(config: Config, link: Literal["rear", "bottom"]) -> float:
    """What the peak is multiplied with if the wheel slides down the plate all the time."""
    assert config.daq is not None
    daq = config.daq.model_copy(update={"friction": config.obstacle.friction})
    return config.frame_part(link)[0] / config.model_copy(update={"daq": daq}).frame_part(link)[0]


def _agreement(piezo: np.ndarray, strain: np.ndarray, u95: np.ndarray) -> str:
    """How the peaks by strain gauges agree with those by the force sensors, in words."""
    if len(piezo) < 2:
        return "too few trials"
    ratio, inside = strain / piezo, int((np.abs(strain - piezo) <= u95).sum())
    rank = stats.spearmanr(piezo, strain).statistic
    return (
        f"{len(piezo)} trials, peak over that of the force sensors {ratio.mean():.2f}, standard deviation "
        f"{ratio.std(ddof=1):.2f}; within the stated {100.0 * (u95 / strain).mean():.0f} % in {inside}; rank "
        f"correlation {rank:.2f}"
    )


def _strains() -> Row:
    """What the gauges have to resolve: compression of the thesis's own tubes."""
    given = parameters()["strain_gauges"]
    side_m, wall_m = (0.0254 * one for one in given["tube_in"])
    area_m2 = side_m**2 - (side_m - 2.0 * wall_m) ** 2
    low, high = parameters()["laboratory"]["quoted_N"]
    parts = [config.frame_part("rear")[0] for config in _attempts("rear").values()]
    strains = [
        1e6 * part * force / (2.0 * area_m2 * given["youngs_modulus_Pa"])
        for part, force in ((min(parts), low), (max(parts), high))
    ]
    return Row(
        "6.2.2, strain",
        "the links are aluminium tube, 1/8 x 2 x 2 in (6.2.3)",
        f"{low} to {high} N on the plate strain both rear links by {strains[0]:.2f} to {strains[1]:.2f} um/m",
        "no number is printed",
        "a good bridge amplifier resolves some 0.02 um/m in 1 kHz (an assumption), which is 2 N in the links and up to "
        "15 N on the plate at 40 degrees: the noise of the simulated channel",
    )
