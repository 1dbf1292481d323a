"""The step service: a simulated rover that another simulator moves in lockstep, over ZeroMQ REQ/REP."""
