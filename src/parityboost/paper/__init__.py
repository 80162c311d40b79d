"""The AdaFair paper: the methods it compares with, and its evaluation.

Nothing else in the package reads this, but the command ``parityboost reproduce``.
"""
