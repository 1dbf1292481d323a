"""Texts that take the place of a config, a plan, a summary, a campaign or an endpoints file."""

from __future__ import annotations

import json

PLAIN = "name: x\nrig: simulated\n"
LAUGHS = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)
# None of them is a config, and none is a plan either.
YAML: dict[str, bytes] = {
    name: text.encode() if isinstance(text, str) else text
    for name, text in {
        "a billion laughs": PLAIN + LAUGHS,
        "a billion keys": PLAIN + LAUGHS.replace("[1", "[{b: 1}"),
        "an alias of itself": PLAIN + "a: &a [*a]\n",
        "two aliases of each other": PLAIN + "a: &a {b: &b [*a, *b]}\n",
        "an alias as a key": PLAIN + "a: &a b\n? *a\n: 1\n",
        "an alias of nothing": PLAIN + "a: *b\n",
        "an anchor a thousand times": PLAIN + "a: &a 1\n" * 1000,
        "brackets": "[" * 100_000,
        "closed brackets": "[" * 5_000 + "]" * 5_000,
        "braces": "{a: " * 50_000,
        "dashes": "- " * 50_000,
        "question marks": "? " * 50_000,
        "deep sections": "".join(" " * depth + "a:\n" for depth in range(500)),
        "a megabyte of comments": "# x\n" * 250_000 + PLAIN,
        "a megabyte of text": "name: " + "x" * 1_000_000 + "\nrig: simulated\n",
        "a quarter of a megabyte of ones": PLAIN + "a: [" + "1," * 128_000 + "1]\n",
        "thousands of keys": PLAIN + "".join(f"k{i}: 1\n" for i in range(9_000)),
        "thousands of anchors": PLAIN + "".join(f"k{i}: &a{i} 1\n" for i in range(6_000)),
        "thousands of lines": PLAIN + "a: x\n" + "  x\n" * 60_000,
        "a key twice": PLAIN + "seed: 1\nseed: 2\n",
        "a key a thousand times": PLAIN + "seed: 1\n" * 1000,
        "a key that is a list": PLAIN + "? [1, 2]\n: 3\n",
        "a number of thousands of digits": PLAIN + "seed: " + "9" * 10_000 + "\n",
        "a hexadecimal number of thousands of digits": PLAIN + "seed: 0x" + "f" * 10_000 + "\n",
        "a real number too large": PLAIN + "trial: {angle_deg: 1e99999}\nangles_deg: 1e99999\n",
        "not a number": PLAIN + "trial: {angle_deg: .nan}\nangles_deg: .nan\n",
        "a command as a tag": PLAIN + "a: !!python/object/apply:os.system ['touch owned']\n",
        "a class as a tag": PLAIN + "a: !!python/object:subprocess.Popen {args: touch owned}\n",
        "a module as a tag": PLAIN + "a: !!python/module:os\n",
        "a tag of nobody": PLAIN + "a: !x 1\n",
        "a tag that does not fit": PLAIN + "a: !!bool maybe\nb: !!timestamp x\n",
        "binary in a tag": PLAIN + "a: !!binary '%%%'\n",
        "a merge key": PLAIN + "a: &a {b: 1}\n<<: *a\n",
        "two documents": PLAIN + "---\n" + PLAIN,
        "a directive": "%YAML 9.9\n---\n" + PLAIN,
        "a directive of tags": "%TAG ! tag:x,2000:\n---\n" + PLAIN + "a: !b 1\n",
        "no text": bytes(range(256)),
        "zeros": bytes(100_000),
        "utf-16": PLAIN.encode("utf-16"),
        "half a character": PLAIN.encode() + b"a: '\xe2\x82'",
        "a surrogate": PLAIN + 'a: "\\ud800"\n',
        "control characters": PLAIN + "a: \x07\x1b[2J\n",
        "an escape of the terminal as a key": PLAIN + '"\\e]0;owned\\a": 1\n',
        "text over lines": PLAIN + "a: >\n" + "  x\n\n" * 30_000,
        "an open quote": PLAIN + 'a: "' + "x\n" * 10_000,
        "json": '{"a": ' * 10_000,
        "a path out of the folder": "name: ../../x\nrig: simulated\n",
        "only an anchor": "&a",
        "nothing": "",
    }.items()
}
CALIBRATIONS = (
    "/dev/zero",
    "/dev/stdin",
    "/",
    "pipe",
    "holes",
    "config.yaml",
    "../" * 400 + "etc/passwd",
    "/proc/self/mem",
)

DEEP = "[" * 900 + "]" * 900
HUGE = "9" * 4000
JSON: dict[str, bytes] = {
    name: text.encode() if isinstance(text, str) else text
    for name, text in {
        "nothing": "",
        "no text": bytes(range(256)),
        "brackets": "[" * 200_000,
        "deep": DEEP,
        "deep in a key": f'{{"loop": {DEEP}, "trials": {DEEP}, "control": {DEEP}}}',
        "braces": '{"a":' * 100_000,
        "empty lists": "[" + "[]," * 1_000_000 + "[]]",
        "empty sections": "[" + "{}," * 1_000_000 + "{}]",
        "a hundred megabytes": b'{"a": "' + b"x" * 100_000_000 + b'"}',
        "a list": "[1, 2]",
        "a number": "7",
        "a text": '"summary"',
        "null": "null",
        "not a number": '{"peak_force_N": NaN, "trials": [], "name": NaN, "digests": {}}',
        "infinity": '{"peak_force_N": -Infinity, "trials": [], "name": Infinity, "digests": {}}',
        "cut short": '{"loop": {"rate_hz": 10',
        "two of them": "{} {}",
        "a surrogate": '{"digests": "\\ud800", "name": "\\ud800", "trials": [], "control": 3}',
        "keys of other types": json.dumps(dict.fromkeys(("loop", "trials", "name", "digests", "control"), 3)),
        "lists for sections": json.dumps({key: [[]] for key in ("loop", "trials", "name", "digests", "control")}),
        "a number of thousands of digits": f'{{"loop": {HUGE}, "seed": {HUGE}, "trials": [{HUGE}], "control": {HUGE}}}',
        "a number of more digits than Python reads": '{"loop": ' + "9" * 100_000 + "}",
        "a folder elsewhere": json.dumps(
            {"name": "x", "digests": {}, "loop": 3, "trials": [{"folder": "../../etc", "summary": {}, "number": 1}]}
        ),
    }.items()
}

BODY = '<link name="{}"><inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
BOMB = (
    "<!DOCTYPE robot [<!ENTITY a0 'x'>" + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12)) + "]>"
)
# None of them is a rover.
ROVERS: dict[str, bytes] = {
    name: text.encode() if isinstance(text, str) else text
    for name, text in {
        "a billion laughs": f"<?xml version='1.0'?>{BOMB}<robot name='a'>&a11;</robot>",
        "a file as an entity": "<!DOCTYPE r [<!ENTITY a SYSTEM '/etc/passwd'>]><robot><link name='&a;'/></robot>",
        "a document type in utf-16": "<!DOCTYPE r [<!ENTITY a 'b'>]><robot/>".encode("utf-16"),
        "deep elements": "<robot>" * 30_000,
        "deep elements that end": "<robot>" + "<link>" * 10_000 + "</link>" * 10_000 + "</robot>",
        "thousands of elements": "<robot>" + "<link name='a'/>" * 12_000 + "</robot>",
        "megabytes": "<robot>" + " " * 5_000_000,
        "an attribute of a megabyte": f"<robot name='{'x' * 150_000}'/>",
        "thousands of attributes": "<robot " + " ".join(f"a{i}='1'" for i in range(10_000)) + "/>",
        "a mass that is not a number": f"<robot>{BODY.format('a', 'nan')}</robot>",
        "an infinite mass": f"<robot>{BODY.format('a', 'inf')}</robot>",
        "a mass of thousands of digits": f"<robot>{BODY.format('a', '9' * 10_000)}</robot>",
        "a link without wheels": f"<robot>{BODY.format('a', 1)}</robot>",
        "an escape of the terminal as a name": f"<robot>{BODY.format('&#155;]0;owned', 'x')}</robot>",
        "a name of markup": f"<robot>{BODY.format('[bold]', 'x')}</robot>",
        "a joint of itself": f"<robot>{BODY.format('a', 1)}<joint name='j' type='fixed'><parent link='a'/>"
        "<child link='a'/></joint></robot>",
        "a chain of five hundred": "<robot>" + "".join(BODY.format(i, 1) for i in range(500)) + "</robot>",
        "bodies without end": "<mujoco><worldbody><replicate count='1000000000'><body/>"
        "</replicate></worldbody></mujoco>",
        "a texture of terabytes": "<mujoco><asset><texture builtin='flat' type='2d' width='999999' height='999999'/>"
        "</asset></mujoco>",
        "memory without end": "<mujoco><size memory='900G'/></mujoco>",
        "nested bodies without end": "<mujoco><worldbody>"
        + "<replicate count='99'>" * 9
        + "<body/>"
        + "</replicate>" * 9
        + "</worldbody></mujoco>",
        "bodies without end in a namespace": "<mujoco><worldbody><replicate xmlns='x' count='1000000000'><body/>"
        "</replicate></worldbody></mujoco>",
        "another file in a namespace": "<mujoco><include xmlns='x' file='/etc/passwd'/></mujoco>",
        "all in a namespace": "<mujoco xmlns='x'><include file='/etc/passwd'/></mujoco>",
        "another file": "<mujoco><include file='/etc/passwd'/></mujoco>",
        "deep bodies": "<mujoco><worldbody>" + "<body>" * 5_000 + "</body>" * 5_000 + "</worldbody></mujoco>",
        "no model": "<mujoco><worldbody/></mujoco>",
        "half a model": "<mujoco><worldbody>",
        "zeros": bytes(10_000),
        "nothing": "",
    }.items()
}
