"""Serial ports for all devices: requests and answers, the list of ports, and the stop of a port."""
