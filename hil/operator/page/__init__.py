"""The operator's page, server side: one more client of command socket and telemetry, in a separate process.

access     who may open it: token, session cookie, origin
messages   what a browser may send
recent     the newest entries of a series, for readers at their own pace
telemetry  ticks and events of the running run
rig        what all viewers share: status, log, stops
viewer     one browser's WebSocket, and its client of the command socket
runs       the folder of the runs
settings   what the resident process hands over
app        HTTP
server     uvicorn, on a socket that is bound already

docs/reference/page.md is the interface. It needs the extra `page`.
"""
