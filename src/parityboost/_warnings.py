"""The category of what `fit` warns of."""


class FitWarning(UserWarning):
    """The model that was fitted may be of no use; the message names the culprit and what helps."""
