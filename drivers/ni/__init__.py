"""NI-DAQmx: data acquisition and valves. This file imports nothing; import the submodule that you need."""
