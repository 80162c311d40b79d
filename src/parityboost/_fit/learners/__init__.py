"""Weak learners, a module per kind: ``base`` says what the loop asks of one, ``stump`` and ``estimator`` answer.

Here belongs what finds a weak learner for given weights, and how those weights change. The choice of α, the costs and
the end of training belong to the loop.
"""
