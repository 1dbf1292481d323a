"""One impact trial: drive into the obstacle at constant speed, cut at the impact, settle (MacMahon 2016, 6.2.4).

experiment  its states, one after the other, and its part of summary.json
acceptance  which trials count
table       its results in the terminal
figure      trial.png
moments     contact, threshold and cut, as lines and words of it
"""
