"""Faults injected into a simulated rig on purpose, and an independent look at the outcome of each (`hil faults`).

table            all cases, in the order of the fault table
..._cases        the cases of a level, and the runner that makes them
case, judge      what a case is, and the one judgement on its outcome
expectation      what must come of a fault of a device, from the limits of the config
faulty_device    a wrapper around a device of this process
lockstep         a run in this process that can be disturbed in any tick
virtual          a run at the protocol level in virtual time that can be disturbed at any time
"""
