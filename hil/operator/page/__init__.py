"""The operator's page, server side: one more client of command socket and telemetry, in a separate process.

docs/reference/page.md is the interface. It needs the extra `page`.
"""
