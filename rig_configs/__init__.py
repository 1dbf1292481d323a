"""Rig configs: data only, one YAML file per rig."""
