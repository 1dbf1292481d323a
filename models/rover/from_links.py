"""From the links and joints of a file to a tree: bodies on frames parallel to the base's, wheels by their places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.rover.links import (
    EQUIVALENT,
    FIXED,
    SLIDING,
    Link,
    LinkedRover,
    LinkJoint,
    Shape,
    added_to,
    carriers,
    join_masses,
    limits_in_words,
    place_links,
    refuse,
    with_safe_names,
)  # fmt: skip
from models.rover.ties import Coupling, LoopClosure, Vector
from models.rover.tree import Body, Joint, Tree, WheelMount
from models.rover.wheels_found import FoundWheel, find_wheels, following, in_order, shape_of

if TYPE_CHECKING:
    from models.kernels.compiled import FloatArray

# Above these, lengths are probably in mm and masses in g.
_MOST_KG, _MOST_M = 10_000.0, 100.0
_DENSEST_KGPM3 = 22.6e3  # osmium
# How far the middle of a box may be from the centre of mass that it is drawn around [m].
_OFF_M = 1e-3
# Of a link without mass between two joints: its share of the rover's mass, and its radius of gyration [m].
_NEGLIGIBLE, _CROSS_M = 1e-9, 0.1


class ImportedRover(NamedTuple):
    """A rover of a file.

    Attributes:
        tree: its bodies, joints and wheels; wheels stand on z = 0.
        wheel_links: name of the link in the file that each wheel is, in the order of the wheels.
        notes: what was changed or left out, a sentence each.
    """

    tree: Tree
    wheel_links: tuple[str, ...]
    notes: tuple[str, ...]


def rover_of(
    linked: LinkedRover,
    wheels: Sequence[str] | None = None,
    wheel_radius: float | None = None,
    wheel_width: float | None = None,
) -> ImportedRover:
    """The rover of the links and joints of a file.

    Fixed joints become locked ones. Wheels are named by their places: front_left, front_right, and so on.

    Args:
        linked: as read.
        wheels: names of their links or joints; None: links that turn without end about y, carry nothing that turns,
            and are cylinders about their axle, or spheres.
        wheel_radius: of every wheel [m]; None: that of its shape.
        wheel_width: of every wheel [m]; None: that of its shape.

    Raises:
        ValueError: it cannot be a rover of this package; the message names the link or joint, and what is allowed.
    """
    linked, renamed = with_safe_names(linked)
    named = None if wheels is None else [renamed.get(name, name) for name in wheels]
    return _Import(linked).rover(named, wheel_radius, wheel_width)


class _Import:
    """The work on one file.

    Links that fixed joints join are a group; its head is the link on whose joint the group turns.
    """

    def __init__(self, linked: LinkedRover) -> None:
        self.linked = linked
        self.notes = list(linked.left_out)
        self.link = {link.name: link for link in linked.links}
        self.carrier = carriers(linked)
        self.placed, self.order = place_links(linked, self.carrier)
        self.head: dict[str, str] = {}
        self.groups: dict[str, list[str]] = {}
        for name in self.order:
            joint = self.carrier.get(name)
            fixed = joint is not None and joint.kind == FIXED
            self.head[name] = self.head[joint.parent] if joint is not None and fixed else name
            self.groups.setdefault(self.head[name], []).append(name)
        self._check_units()
        self._weigh_massless()
        self.body_of: dict[str, str] = {}
        self.problems: list[str] = []
        for name in self.order:
            self.body_of[name] = self.head[name]  # of a group without mass, which is refused
            with added_to(self.problems):
                self.body_of[name] = self._body_of(name)
        for members in self.groups.values():
            if heavy := [name for name in members if self._heavy(name)]:
                self._join_unsound(heavy)

    def rover(self, wheels: Sequence[str] | None, radius: float | None, width: float | None) -> ImportedRover:
        massless, problems = bool(self.problems), self.problems
        found: list[FoundWheel] = []
        mounts: list[tuple[WheelMount, FoundWheel]] = []
        with added_to(problems):
            found = find_wheels(self, wheels, radius, width)
            mounts = in_order(found, self.placed[self.order[0]].origin)
        flipped = {self.carrier[one.head].name for one in found if one.flipped}
        couplings = list(self._couplings(flipped, problems))
        if massless:  # there are no bodies to judge
            refuse(problems)
        raised = np.array([0.0, 0.0, -min((float(one.centre[2]) - one.radius for one in found), default=0.0)])
        if abs(raised[2]) <= 1e-9:
            raised[2] = 0.0
        else:
            self.notes.append(f"the base frame lies {raised[2]:+.4g} m under that of the file, on the ground")
        at = {head: self.placed[head].origin + raised for head in self.groups}
        at[self.order[0]] = self.placed[self.order[0]].origin
        at |= {one.head: one.centre + raised for one in found}
        wheel_of = {one.head: one for one in found}
        bodies: list[Body] = []
        joints: list[Joint] = []
        origin: dict[str, FloatArray] = {}
        for head, members in self.groups.items():
            heavy = [name for name in members if self._heavy(name)]
            origin[heavy[0]] = at[head]
            if head in wheel_of:
                with added_to(problems):
                    bodies.append(self._merged(heavy, at[head], raised))
            else:
                based = head == self.order[0]
                own = [name for name in heavy if self.body_of[name] == name]
                for name in own[1:]:
                    origin[name] = self.placed[name].origin + raised
                for name in own:
                    parts = [part for part in heavy if self.body_of[part] == name]
                    with added_to(problems):
                        bodies.append(self._body(parts, origin[name], raised, based))
                joints += [self._lock(name, origin) for name in own[1:]]
            if head in self.carrier:
                with added_to(problems):
                    joints.append(self._turning(self.carrier[head], heavy[0], origin, wheel_of.get(head)))
        refuse(problems)
        if light := [name for name in self.order if not self._heavy(name)]:
            self.notes.append(f"links without mass, left out: {', '.join(light)}")
        order = {body.name: number for number, body in enumerate(bodies)}
        joints.sort(key=lambda joint: order[joint.child])
        if flipped:
            self.notes.append(
                f"axles that point to starboard in the file, turned to port: {', '.join(sorted(flipped))}"
            )
        askew = [(one.askew, self.carrier[one.head].name) for one in found if one.askew > 1e-6]
        if askew:
            names = ", ".join(name for _, name in askew)
            self.notes.append(f"axles up to {math.degrees(max(askew)[0]):.2g} degrees off y, set along y: {names}")
        mounted = tuple(mount for mount, _ in mounts)
        tree = Tree(self.linked.name, tuple(bodies), tuple(joints), mounted, tuple(couplings))
        if self.linked.balls:
            tree = replace(tree, closures=tuple(self._closures(tree, origin, raised)))
        return ImportedRover(tree, tuple(one.link for _, one in mounts), tuple(self.notes))

    def _check_units(self) -> None:
        total, problems = sum(link.mass or 0.0 for link in self.linked.links), []
        if total > _MOST_KG:
            problems.append(f"mass is {total:.6g} kg in all, allowed: up to {_MOST_KG:g} kg; are masses in g?")
        what, longest = max(
            ((what, max(map(abs, lengths), default=0.0)) for what, lengths in self._lengths()),
            key=lambda one: one[1],
            default=("", 0.0),
        )
        if longest > _MOST_M:
            problems.append(f"{what} has lengths of {longest:g} m, allowed: up to 100 m; are they in mm?")
        self._check_inertias(problems)
        refuse(problems)

    def _check_inertias(self, problems: list[str]) -> None:
        """Lengths of the boxes of the links' masses and moments: none over 100 m; a note on others that cannot be."""
        places = np.array([self.placed[name].origin for name in self.order])
        shapes = (max(shape.size, default=0.0) for link in self.linked.links for shape in link.shapes)
        rover_m = float(np.linalg.norm(np.ptp(places, axis=0))) + 2.0 * max(shapes, default=0.0)
        ask = "is its inertia in kg m2?"
        for link in self.linked.links:
            if not link.mass or not np.isfinite(link.inertia).all() or not link.inertia.any():
                continue
            moments = np.linalg.eigvalsh(link.inertia)
            longest = math.sqrt(max(6.0 / link.mass * float(moments.sum() - 2.0 * moments[0]), 0.0))
            box = f"link {link.name}: {link.mass:g} kg and its inertia make a box {longest:.3g} m long"
            if longest > _MOST_M:
                problems.append(f"{box}, allowed: up to 100 m; {ask}")
            elif longest > rover_m > 0.0:
                self.notes.append(f"{box}, longer than the rover ({rover_m:.3g} m); {ask}")
            elif link.mass > _DENSEST_KGPM3 * longest**3:
                self.notes.append(f"{box}, denser than any metal; {ask}")

    def _lengths(self) -> Iterator[tuple[str, Sequence[float]]]:
        for joint in self.linked.joints:
            yield f"joint {joint.name}", joint.origin.tolist()
        for link in self.linked.links:
            yield f"link {link.name}", link.com.tolist()
            for shape in link.shapes:
                yield f"link {link.name}", (*shape.size, *shape.origin.tolist())

    def _heavy(self, name: str) -> bool:
        link = self.link[name]
        return link.mass is not None and not (link.mass == 0.0 and not link.inertia.any())

    def _weigh_massless(self) -> None:
        """Links without mass between joints, as the cross of a universal joint, get one that does not count."""
        mass = _NEGLIGIBLE * math.fsum(link.mass or 0.0 for link in self.link.values())
        bearing: set[str] = set()
        for name in reversed(self.order):
            if name in self.carrier and (name in bearing or self._heavy(name)):
                bearing.add(self.carrier[name].parent)
        for head in [head for head in self.groups if head in self.carrier]:
            members = self.groups[head]
            if bearing & {*members} and not any(map(self._heavy, members)):
                self.link[head] = self.link[head]._replace(mass=mass, inertia=mass * _CROSS_M**2 * np.eye(3))
                self.notes.append(f"link {head}: no mass, between joints; computed with {_NEGLIGIBLE:g} of the rover's")

    def _body_of(self, name: str) -> str:
        """The body that a link is, or that carries it rigidly."""
        head = self.head[name]
        if not any(map(self._heavy, self.groups[head])):
            allowed = "mass and inertia in <inertial> of each link that moves, and of the rover's body"
            raise ValueError(f"link {head}: no mass, allowed: {allowed}")
        while not self._heavy(name):
            if name == head:
                return next(filter(self._heavy, self.groups[head]))
            name = self.carrier[name].parent
        return name

    def _join_unsound(self, heavy: Sequence[str]) -> None:
        """Make links one body with the first of their group where their own inertia is none of a body.

        Only the sum has to be sound: rods, and plates whose moments are rounded, are common in files.
        """
        unsound = [name for name in heavy if not _sound(self.link[name])]
        joined = heavy[1:] if heavy[0] in unsound else unsound
        for name, body in self.body_of.items():
            if body in joined:
                self.body_of[name] = heavy[0]
        if joined:
            self.notes.append(
                f"links whose inertia alone is none of a body, joined with {heavy[0]}: {', '.join(unsound)}"
            )

    def _mass_properties(self, name: str) -> tuple[float, FloatArray, FloatArray]:
        """Mass, centre of mass relative to the link's origin, inertia about it, in base axes."""
        link, axes = self.link[name], self.placed[name].axes
        return float(link.mass or 0.0), axes @ link.com, axes @ link.inertia @ axes.T

    def _body(self, names: Sequence[str], origin: FloatArray, raised: FloatArray, based: bool) -> Body:
        """A body of the first link, with those that are joined with it."""
        body = self._merged(names, origin, raised)
        size = self._outer_box(names[0], np.array(body.com) + origin - raised) if based else None
        return replace(body, size=size)

    def _merged(self, names: Sequence[str], origin: FloatArray, raised: FloatArray) -> Body:
        """Links that are fixed to each other, as a wheel with all that is on it, as one body."""
        parts = []
        for name in names:
            mass, com, inertia = self._mass_properties(name)
            parts.append((mass, com + (self.placed[name].origin + raised - origin), inertia))
        return make_body(names[0], *join_masses(parts), None)

    def _outer_box(self, name: str, com: FloatArray) -> Vector | None:
        """Sides of the box that meets the ground if the rover turns over."""
        link, placed = self.link[name], self.placed[name]
        boxes = [shape for shape in link.shapes if shape.kind == "box" and not shape.name.startswith(EQUIVALENT)]
        if not boxes:
            return None
        box = max(boxes, key=lambda shape: math.prod(shape.size))
        turn = np.abs(placed.axes @ box.rotation)
        off = np.abs(placed.origin + placed.axes @ box.origin - com).max()
        if off > _OFF_M or not np.allclose(np.sort(turn, axis=0), [[0.0] * 3, [0.0] * 3, [1.0] * 3], atol=1e-6):
            self.notes.append(
                f"the box of link {name} is not around its centre of mass, or turned: it meets no ground if the rover "
                "turns over"
            )
            return None
        x, y, z = np.round(turn) @ box.size
        return float(x), float(y), float(z)

    def _lock(self, name: str, origin: dict[str, FloatArray]) -> Joint:
        """What fixes a body to another one of its group."""
        joint = self.carrier[name]
        parent = self.body_of[joint.parent]
        if parent == name:  # the group's first body, which a link without mass carries
            parent = next(filter(self._heavy, self.groups[self.head[name]]))
        return Joint(joint.name, parent, name, _vector(origin[name] - origin[parent]), (0.0, 1.0, 0.0), locked_at=0.0)

    def _turning(self, joint: LinkJoint, child: str, origin: dict[str, FloatArray], wheel: FoundWheel | None) -> Joint:
        parent = self.body_of[joint.parent]
        axis = (0.0, 1.0, 0.0) if wheel is not None else self.axis(joint)
        place, slides = _vector(origin[child] - origin[parent]), joint.kind == SLIDING
        return Joint(joint.name, parent, child, place, axis, stops=self._stops(joint), slides=slides)

    def _stops(self, joint: LinkJoint) -> tuple[float, float] | None:
        if joint.stops is None:
            return None
        low, high = joint.stops
        if low <= 0.0 <= high:
            return low, high
        zero = "distance" if joint.kind == SLIDING else "angle"
        self.notes.append(
            f"{limits_in_words(joint)}, left out: {zero} 0, at which the rover is described and begins, is not between "
            "them"
        )
        return None

    def axis(self, joint: LinkJoint) -> Vector:
        """Axis of a joint in base axes, of length 1."""
        along = self.placed[joint.child].axes @ joint.axis / float(np.linalg.norm(joint.axis))
        along[np.abs(along) < 1e-12] = 0.0
        return _vector(along / np.linalg.norm(along))

    def shape(self, head: str) -> tuple[str, Shape] | None:
        """The round shape of a group of links, and the link that has it; None: it has none."""
        return shape_of([self.link[name] for name in self.groups[head]])

    def _couplings(self, flipped: set[str], problems: list[str]) -> Iterator[Coupling]:
        by_name = {joint.name: joint for joint in self.linked.joints}
        for joint in self.linked.joints:
            if joint.follows is None or joint.kind == FIXED:
                continue
            source, ratio, offset = joint.follows
            seen = {joint.name}
            while source in by_name and (further := by_name[source].follows) is not None and source not in seen:
                seen.add(source)
                source, ratio, offset = further[0], ratio * further[1], offset + ratio * further[2]
            if source not in by_name or by_name[source].kind == FIXED or source in seen:
                problems.append(
                    f"joint {joint.name}: follows {source or 'nothing'}, allowed: another joint that turns or slides"
                )
                continue
            own, other = (-1.0 if name in flipped else 1.0 for name in (joint.name, source))
            yield Coupling(joint.name, ((source, own * other * ratio),), own * offset)

    def _closures(self, tree: Tree, origin: dict[str, FloatArray], raised: FloatArray) -> Iterator[LoopClosure]:
        """The balls of the file, with the joints that follow: those that it names, or those that are chosen."""
        ends: list[list[tuple[str, Vector]]] = []
        for ball in self.linked.balls:
            pairs = ((ball.link, ball.place), (ball.other, ball.other_place))
            for name, _ in pairs:
                if name not in self.body_of:
                    raise ValueError(f"loop {ball.name}: no link {name}, allowed: links of the file")
            ends.append([self._on_body(name, place, origin, raised) for name, place in pairs])
        follow = [ball.dependent for ball in self.linked.balls]
        if not all(follow):
            points = [(one, other) for one, other in ends]
            chosen = following(tree, points, {name for names in follow for name in names})
            follow = [names or tuple(chosen.pop(0) for _ in range(3)) for names in follow]
            self.notes.append(f"joints that follow from loops: {', '.join(name for names in follow for name in names)}")
        for ball, ((body, place), (other, other_place)), names in zip(self.linked.balls, ends, follow, strict=True):
            one, two, three = names
            yield LoopClosure(ball.name, body, place, other, other_place, (one, two, three))

    def _on_body(
        self, name: str, place: FloatArray, origin: dict[str, FloatArray], raised: FloatArray
    ) -> tuple[str, Vector]:
        """The body that a link is part of, and a place of the link in that body's frame."""
        body, at = self.body_of[name], self.placed[name]
        # a wheel and all that is fixed to it are one body
        body = body if body in origin else next(one for one in self.groups[self.head[name]] if one in origin)
        return body, _vector(at.origin + at.axes @ place + raised - origin[body])


def _sound(link: Link) -> bool:
    """Whether a rigid body can have its inertia; whether it can have its mass is said elsewhere."""
    try:
        make_body(link.name, abs(link.mass or 1.0), link.com, link.inertia, None)
    except ValueError:
        return False
    return True


def make_body(name: str, mass: float, com: FloatArray, inertia: FloatArray, size: Vector | None) -> Body:
    """A body [kg, m, kg m^2] by its inertia (3, 3), without products that are rounding; raises ValueError as `Body`."""
    xx, yy, zz = (float(inertia[i, i]) for i in range(3))
    products = [float(inertia[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    noise = 1e-14 * (xx + yy + zz)
    xy, xz, yz = (0.0 if abs(product) < noise else product for product in products)
    return Body(name, mass, _vector(com), (xx, yy, zz), size, (xy, xz, yz))


def _vector(values: FloatArray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
