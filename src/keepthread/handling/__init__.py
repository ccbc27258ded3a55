"""What each event of the host is answered with: event in, output out.

Imports stand in the functions, as far as they cost.
"""
