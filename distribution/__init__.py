"""Whether the distribution works where it is installed: the wheel with each extra, and the oldest versions claimed."""
