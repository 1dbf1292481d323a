"""`python -m hil.cli`, if the program `hil` is not installed."""

from hil.cli import main

main()
