"""Data that stages, processes and files exchange: stage messages, layout, operator's commands, rows."""
