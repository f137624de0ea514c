"""Application: does a better prediction make a better drive?"""
