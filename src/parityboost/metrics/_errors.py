"""What goes wrong in a search."""


class ScoringError(BaseException):
    """The groups of a scorer cannot be compared, whatever the model predicts.

    It is no ``Exception``, because scikit-learn's searches make a score of NaN of those: all settings would be equal,
    and ``best_params_`` the first of them.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier
    >>> from parityboost.metrics import ScoringError, fairness_scorer
    >>> X, y = [[1, 5], [2, 5], [3, 4], [4, 5]], [0, 1, 0, 1]
    >>> try:
    ...     fairness_scorer("sex")(AdaBoostClassifier(2).fit(X, y), X, y)
    ... except ScoringError as error:
    ...     print(str(error)[-49:])
    X has no column 'sex'; its columns are 'x0', 'x1'
    """
