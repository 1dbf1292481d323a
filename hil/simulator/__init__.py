"""The simulated rig at the protocol level: a plant in real time, with endpoints that real drivers open.

memory          shared memory of its processes
plant_process   the plant
serial_process  all serial devices, each on a pseudo-terminal
daq_process     the NI device server
control_socket  injects faults, puts the rover back to its start, reads the ground truth
rig_server      starts and stops all of them
"""
