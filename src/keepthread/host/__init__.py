"""What is known of the host: its events, locations, settings file and the variables of our own."""
