"""A sketch of a rover: from starboard and from above, joints at zero."""

from __future__ import annotations

from pathlib import Path

from hil.analysis.film.outlines import body_outline, rim_outline
from hil.analysis.film.skeleton import Skeleton
from hil.config.whole_file import replacing
from hil.messages.stages import UPRIGHT
from models.rover.tree import Tree


def draw_sketch(tree: Tree, com: tuple[float, float, float], path: Path) -> None:
    """Draw bodies as the boxes of their masses and moments, wheels, and the centre of mass.

    Args:
        tree: of the rover.
        com: centre of mass in the base frame [m].
        path: of the PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

    skeleton = Skeleton(tree, ())
    placed = skeleton.place(UPRIGHT, (), (0.0,) * len(skeleton.wheels))
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, title, flat, up in zip(
        figure.subplots(1, 2), ("from starboard", "from above"), ((0, 2), (0, 1)), (2, 1), strict=True
    ):
        side = up == 2
        for body in tree.bodies:
            if body.name not in skeleton.wheels:
                outline = body_outline(body, placed, flat)
                axes.add_patch(Polygon(outline, facecolor="#ddaa33", edgecolor="#333333", alpha=0.6))
        for wheel in tree.wheels:
            rim = rim_outline(wheel, wheel.radius, placed, side=side)
            axes.add_patch(Polygon(rim, facecolor="#004488", edgecolor="#001d3d", alpha=0.6))
        for joint in tree.joints:
            start, end = placed.origin[joint.parent], placed.origin[joint.child]
            axes.plot([start[0], end[0]], [start[up], end[up]], color="#333333", linewidth=1.5)
        axes.plot(com[0], com[up], marker="P", color="#cc3311", markersize=9, linestyle="none", label="centre of mass")
        if side:
            axes.axhline(0.0, color="#9a8f7d", linewidth=2.0)
        axes.set(title=title, xlabel="x [m]", ylabel="z [m]" if side else "y [m]", aspect="equal")
        axes.autoscale_view()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="upper right")
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120)
