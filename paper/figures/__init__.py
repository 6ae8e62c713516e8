"""One file per figure of the paper: ``draw(results, folder)`` writes it as PNG and SVG."""
