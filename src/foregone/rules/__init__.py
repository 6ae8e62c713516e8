"""Ready-made stopping rules to stand next to the optimum; each returns a StoppingStrategy."""
