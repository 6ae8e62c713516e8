"""Access to the operating system: atomic files, memory limits, worker processes, terminals, GPUs."""
