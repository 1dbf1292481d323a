"""Compiles atomics.ll into machine_code.py.

    python -m hil.ipc.shm.compile              after an edit of atomics.ll, or of the pinned LLVM (llvmlite, with numba)
    python -m hil.ipc.shm.compile --assembly   prints the assembly of each machine, for review

A developer's tool: nothing imports it at run time, and a run needs no compiler.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

MACHINES = ("x86_64", "aarch64")
SOURCE = Path(__file__).with_name("atomics.ll")
TARGET = Path(__file__).with_name("machine_code.py")


def functions() -> dict[str, str]:
    """Each function as a separate module, together with the internal functions that it may use."""
    blocks = re.findall(r"^define .*?^}$", SOURCE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    internal = "\n".join(block for block in blocks if block.startswith("define internal"))
    public = [block for block in blocks if not block.startswith("define internal")]
    return {block.split("@", 1)[1].split("(", 1)[0]: f"{internal}\n{block}\n" for block in public}


def _inlined(machine: str, text: str) -> tuple[Any, Any]:
    """Compiler and module, with the internal functions inlined: each function must be self-contained."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    compiler = llvm.Target.from_triple(f"{machine}-unknown-linux-gnu").create_target_machine(
        opt=2, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(text)
    module.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    # no other passes: they would turn loops into calls of memcpy
    passes.run(module, llvm.create_pass_builder(compiler, llvm.create_pipeline_tuning_options(speed_level=0)))
    return compiler, module


def machine_code(machine: str, text: str) -> str:
    """The instructions of one function as hexadecimal digits; RuntimeError if they need other code or data."""
    compiler, module = _inlined(machine, text)
    elf = llvm.ObjectFileRef.from_data(compiler.emit_object(module))
    sections = {(section.name() or b"").decode(): section.data() for section in elf.sections()}
    foreign = [name for name in sections if name.startswith((".rela.text", ".rel.text", ".rodata", ".data", ".bss"))]
    if foreign:
        raise RuntimeError(f"{machine}: code that needs {', '.join(foreign)} cannot be copied into place:\n{text}")
    return str(sections[".text"].hex())


def assembly(machine: str) -> str:
    """The same as a listing."""
    compiled = (_inlined(machine, text) for text in functions().values())
    return "".join(compiler.emit_assembly(module) for compiler, module in compiled)


def source_text() -> str:
    """The required contents of machine_code.py."""
    version = ".".join(str(number) for number in llvm.llvm_version_info)
    note = f"atomics.ll as compiled by LLVM {version}: written by `python -m hil.ipc.shm.compile`, not by hand."
    text = f'"""{note}"""\n\nCODE = {{\n'
    for machine in MACHINES:
        text += f'    "{machine}": {{\n'
        for name, source in functions().items():
            digits = machine_code(machine, source)
            lines = [f'"{digits[i : i + 104]}"' for i in range(0, len(digits), 104)]
            if len(lines) == 1:
                text += f'        "{name}": {lines[0]},\n'
            else:
                text += f'        "{name}": (\n' + "".join(f"            {line}\n" for line in lines) + "        ),\n"
        text += "    },\n"
    return text + "}\n"


if __name__ == "__main__":
    if "--assembly" in sys.argv:
        sys.stdout.write("".join(assembly(machine) for machine in MACHINES))
    else:
        TARGET.write_text(source_text(), encoding="utf-8")
