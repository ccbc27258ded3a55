"""What enters the context and what it costs: the gauge, and long tool results kept out of it."""
