"""Leica total stations. This file imports nothing; import the submodule that you need."""
