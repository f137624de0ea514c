"""Application: does a human take the gap, when and how?"""
