"""Training: samples of rows, the weak learners and their weights, the loop of Algorithm 1, bags, ``history_``.

Here belongs what exists while a model is trained and is gone afterwards. How columns become codes is not decided here,
nor what a fitted model is made of.
"""
