"""Environment profiles: named sets of the host's own variables, what they do, and how they are put in force."""
