"""Serial ports, whatever is connected to them: requests and answers, what ports there are, and the stop of a port."""
