"""A drive over a step, a ledge or a slope: climbing, and dropping down.

course      where wheels and body are along the profile, from the pose
experiment  the phases of the drive
judgement   what came of it
drop_force  what falls on sensors below a ledge, before it falls
figure      crossing.png
"""
