"""Steps in the plane."""
