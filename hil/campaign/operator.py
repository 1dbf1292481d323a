"""Questions of a campaign to its operator, and who answers them: one interface, whatever shows them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from typing_extensions import override


class NoAnswerError(Exception):
    """The operator is gone, or ended the campaign instead of answering."""


@dataclass(frozen=True)
class Question:
    """A question to the operator.

    Attributes:
        key: what is asked: name, ready, verdict or word.
        text: for people; what has to be done before the answer comes first.
        choices: the answers that count; empty: any text.
        default: the answer to an empty line.
        trial: number of the trial that it is about; 0: of none.
    """

    key: str
    text: str
    choices: tuple[str, ...] = ()
    default: str = ""
    trial: int = 0


class Operator(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> str:
        """The answer: one of `question.choices`, if it has any. Raises NoAnswerError."""


class TerminalOperator(Operator):
    """Whoever sits at the terminal. Ctrl-C at a question, and the end of the input, end the campaign."""

    @override
    def ask(self, question: Question) -> str:
        hint = f" [{'/'.join(question.choices)}]" if question.choices else ""
        default = f" ({question.default})" if question.default else ""
        try:
            with _signals_interrupt():
                while True:
                    answer = self._line(f"{question.text}{hint}{default}: ").strip() or question.default
                    matching = [choice for choice in question.choices if answer and choice.startswith(answer.lower())]
                    if not question.choices:
                        return answer
                    if len(matching) == 1:
                        return matching[0]
        except (EOFError, KeyboardInterrupt):
            raise NoAnswerError(question.key) from None

    @staticmethod
    def _line(prompt: str) -> str:
        import sys

        print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  stdout is for the result
        return input()


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """A signal ends the wait for an answer."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
