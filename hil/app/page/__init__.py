"""The page server of `hil operate`, and what it can show of a rig and its runs.

content  what the page draws with, from config and models
server   its process, as the resident process starts it, looks after it and ends it
process  entry point of that process
impact   entry point of a process that reads the sensors around an impact
"""
