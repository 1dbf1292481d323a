"""NI-DAQmx: data acquisition and valves. This file imports nothing: who needs a part of it imports that part."""
