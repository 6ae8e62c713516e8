"""What is run on the simulator changes numba when it is imported: that is for processes of its own."""

collect_ignore = ["run_simulated.py", "simulated.py"]
