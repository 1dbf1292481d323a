"""Roboteq motor controllers, ASCII commands. This file imports nothing: who needs a part of it imports that part."""
