"""What a rig is used for: each experiment says what happens when, and what its run comes down to.

base           what all experiments have in common: states, arming, the operator's part, results
registry       experiments by name, our own and those that other packages bring
summary        the part of summary.json that every run has
summary_table  how its numbers are shown in the terminal
impact/        one impact trial: run up, cut at the impact, settle
jog/           bring-up: turn wheels, or power one valve, for a while
drive/         wheel speeds over time, with no obstacle
normal_force/  a drive with controlled wheel loads
drawbar/       pull at a slip
slope/         whether a slope is climbed
walk/          motions and gaits by drives and driven joints
"""
