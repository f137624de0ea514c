"""Application: do people find it realistic, and do they agree?"""
