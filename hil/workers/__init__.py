"""The processes beside the loop: far end, recorder, watchdog; how they are started, watched and ended.

life       a worker's side: it ends when told and when the loop process is gone, by whatever
crew       the loop's side: starts them, goes Safe when one is lost, leaves none behind
process    our side of a process that lives so
pump       between drivers and shared memory, and the dead-man of the link
link       one hardware link: its device, stepped and stopped whatever happens
far_end    the simulated rig in its own process
recorder   rings to file and viewers
watchdog   ends what hangs, and all of them when the loop process is gone
"""
