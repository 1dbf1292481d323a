"""Many trials: a plan of impact trials, run and judged one by one, and sweeps over any key of a config.

plan      what a plan says, checked
expand    from a plan and a config to the list of its trials, each with a config of its own
trial     one simulated trial: the function that a process of a pool, or a worker of a cluster, runs
workers   where simulated trials run: in this process, or in a process pool
cluster   or on the workers of a Dask scheduler
folder    the folder of a campaign: campaign.csv, campaign.json, a run folder for each trial
run       a campaign of simulated trials, from the first to the last
guided    a campaign on a real rig: what the operator sets, confirms and judges
operator  the questions to the operator, and who answers them
commanded the same campaign, where the operator is a client of the command socket
sweep     the product of values over any keys, no folder for a run
"""
