"""Numbers about predictions: rates of ``counts[group, y_true, y_pred]``, and confidence intervals for them.

Here belongs arithmetic on counts alone. Which rates a notion compares belongs to ``notions``, what an audit shows to
``audit``.
"""
