"""Engines: the same mathematics, compiled. The plain PyTorch operators are the reference they must agree with."""
