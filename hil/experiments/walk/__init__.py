"""Walking: motions and gaits one after the other, by drives and driven joints (MacMahon 2016, 2.1; Xu 2021, 4).

experiment  its states, what is set in each tick, and its part of the summary
programme   the motions of the config as set-points over time, and whether they are within the limits
judgement   advance, and how far standing wheels slid, from poses and joint angles
figure      walk.png
"""
