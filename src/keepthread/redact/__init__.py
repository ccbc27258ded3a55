"""Secrets out of text. Pure: no file, no environment but what is passed in."""
