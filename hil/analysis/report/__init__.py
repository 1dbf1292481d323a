"""The report of a campaign: report.html in one file, and its figures as PNG, PDF and SVG.

trials         what is known of each trial: its row, summary, record, and whether they belong together
groups         trials that may be compared, and their statistics
traces         forces of a trial, as few points as a screen can show
answers        what the report says first, in words
drawing        style of the figures, and their files
force_figures  force over angle, T_c and hit height
grousers       force over the grousers' offset, and normalised by it
trial_figures  small multiples, load points, delay of the cut
page           report.html, from templates/
make           all of it, from the folder of a campaign
"""
