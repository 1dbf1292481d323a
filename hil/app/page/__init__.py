"""The page server of `hil operate`, and what it can show of a rig and its runs.

content  what the page draws with, from config and models
server   as the resident process starts it and ends it
process  entry point of that process
series   every number of a tick, by the name that the page has for it
bands    the values that limits allow a series
record   entry point of a process that reads a record: sensors around the impact, timing, traces, or an export
"""
