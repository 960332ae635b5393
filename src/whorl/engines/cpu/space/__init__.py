"""Steps in space."""
