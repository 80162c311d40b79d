"""What remains after training: weak learners and their weights, the tables that predict, the mixins that predict,
explain and change a fitted model.

Here belongs nothing that trains (``_fit``) and nothing that reads or writes files (``_io``).
"""
