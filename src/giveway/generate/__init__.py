"""Application: which traffic makes a planner fail although it could have coped?"""
