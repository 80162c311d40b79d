"""Hostile tables, options, model files and command lines by the thousand; CONTRIBUTING says how to run them."""
