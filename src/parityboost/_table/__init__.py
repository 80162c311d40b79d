"""What the user hands over, and how it becomes codes: reading tables, labels, groups and weights; bins; bundles.

Here belongs everything that looks at the user's columns and names them in errors. What is learnt from the codes
belongs to ``_fit``, what is kept of it to ``_model``.
"""
