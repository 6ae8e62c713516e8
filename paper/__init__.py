"""The reproduction of the paper: its datasets, runs, tables and figures, from one command."""
