"""The category of what `fit` warns of."""


class FitWarning(UserWarning):
    """The model that was fitted may be of no use; the message names the culprit and what helps.

    Examples
    --------
    >>> import warnings
    >>> from parityboost import FitWarning
    >>> warnings.simplefilter(
    ...     "error", FitWarning
    ... )  # an exception instead of a model that may be of no use
    >>> warnings.simplefilter("default", FitWarning)
    """
