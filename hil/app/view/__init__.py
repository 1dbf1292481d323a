"""`hil view`: a viewer outside this program, live from a running rig's telemetry or from a record.

server     Foxglove's WebSocket: the channels of hil.analysis.export.channels
follow     from telemetry to the server
play_back  from a record to the server
layout     the file with panels that a user imports
"""
