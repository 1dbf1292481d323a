"""The processes beside the loop: simulated rig, recorder, watchdog; how they are started, watched and ended.

lifecycle    a worker's side: it ends when told and when the loop process is gone, by whatever
supervisor   the loop's side: starts them, goes Safe when one is lost, leaves none behind
process      our side of a process that lives so
link_bridge  between drivers and shared memory, and the dead-man of the link
link         one hardware link: its device, stepped and stopped whatever happens
watchdog     ends what hangs, and all of them when the loop process is gone

A process is started by the name of its module (`supervisor.MODULES`), which is not imported here:
`hil.app.link_process` for a link, `hil.recording.recorder`, `hil.simulator.simulated_rig`.
"""
