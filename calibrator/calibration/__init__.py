"""The calibration: a file for each step, and the loop that puts them in order."""
