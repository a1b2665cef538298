"""Digits multiplied from their images: the data, and the networks that learn from products alone."""
