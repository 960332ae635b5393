"""Steps of learned blocks."""
