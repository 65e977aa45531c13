"""Does a judge rank systems as humans do, and with how many labels?"""
