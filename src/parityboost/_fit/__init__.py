"""Training: the rows and their weights, the weak learners, the loop of Algorithm 1 and its ``history_`` table.

Here belongs what exists while a model is trained and is gone afterwards. How columns become codes is not decided here,
nor what a fitted model is made of.
"""
