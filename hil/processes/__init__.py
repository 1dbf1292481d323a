"""The worker processes of a run: simulated rig, recorder, watchdog, links; how they are started, watched and ended.

Every process of hil starts as `python -m hil.processes NAME`, whose table (`__main__.py`) names what it runs.
"""
