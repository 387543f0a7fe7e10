"""The branch of the error tree that analysis adds.

ShardtalkError (tasks/errors.py)
└── AnalysisError         a question these conversations cannot answer: no such group, too few runs, …
    └── NothingShared     two arms without anything to pair
"""

from __future__ import annotations

from tasks.errors import ShardtalkError


class AnalysisError(ShardtalkError):
    """What was asked cannot be computed from what is there. The alternative would be a silent NaN."""


class NothingShared(AnalysisError):
    """Two arms have no instance in common, so there is nothing to pair."""
