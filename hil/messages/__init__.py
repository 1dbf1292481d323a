"""What passes between stages, processes and files: stage messages, layout, operator's commands, rows."""
