"""Each module prints one table from a run; --check exits 1 when a ratio is missed."""
