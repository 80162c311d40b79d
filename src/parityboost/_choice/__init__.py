"""The choice of θ and the threshold: what there is to choose from, by which rule, and the best of all trade-offs.

Here belongs what compares rounds and thresholds by their counts. It knows neither how the rounds were trained
(``_fit``) nor what a fitted model is made of (``_model``).
"""
