"""Roboteq motor controllers, ASCII commands. This file imports nothing; import the submodule that you need."""
