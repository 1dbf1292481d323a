"""Capture: a space arm meets a payload, latches it, holds it rigidly, and brings it to rest."""
