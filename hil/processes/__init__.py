"""The worker processes of a run: simulated rig, recorder, watchdog, links; how they are started, watched and ended.

lifecycle     worker side: the worker ends when asked to, and when the loop process is gone
supervisor    loop side: starts the workers, goes Safe when one is lost, ends all of them
process       a child process with such a lifecycle
link_bridge   between drivers and shared memory, and the dead-man of the link
stop_flag     ends a server when a signal asks it to
link          one hardware link: polls its device, and stops it whatever happens
watchdog      kills processes that hang, and ends all when the loop process is gone
disturbances  stalls of the machine, late simulated devices and long ticks, as events of the record

Every process of hil starts as `python -m hil.processes NAME`, whose table (`__main__.py`) names what it runs.
"""
