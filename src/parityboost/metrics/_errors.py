"""What goes wrong in a search."""


class ScoringError(BaseException):
    """The groups of a scorer cannot be compared, whatever the model predicts.

    It is no ``Exception``, because scikit-learn's searches make a score of NaN of those: all settings would be equal,
    and ``best_params_`` the first of them.
    """
