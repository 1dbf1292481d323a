"""A drive over a step, a ledge or a slope: climbing, and dropping down.

course      where wheels and body are along the profile, from the pose
experiment  the phases of the drive
judgement   what came of it
figure      crossing.png
"""
