"""What the operating system is asked for: files written whole or not at all, memory, processes, terminals."""
