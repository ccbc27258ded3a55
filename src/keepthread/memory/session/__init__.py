"""The running memory of a session: ten headings that are brought up to date while the work goes on."""
