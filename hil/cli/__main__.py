"""`python -m hil.cli`, where the program `hil` is not installed."""

from hil.cli import main

main()
