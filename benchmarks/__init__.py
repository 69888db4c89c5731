"""Measurements: every figure that the documentation states is printed by a module here."""
