"""The rover twin as an observer: predicted by the model, corrected by what instruments of motion measure."""

from hil.estimation.observer.observed_twin import ObservedTwin, make_twin

__all__ = ["ObservedTwin", "make_twin"]
