"""What code can read out of a transcript: files, commands, asks, rules, identifiers. No model is asked."""
