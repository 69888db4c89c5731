"""Players made of a search and an evaluator, and the ways to talk to them."""
