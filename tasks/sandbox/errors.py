"""What the sandbox raises, apart from its programs' failures, which are `Outcome`s.

ShardtalkError
└── IsolationRefused     this machine cannot wall programs in as strongly as was asked
ScorerFailure
└── SandboxFailure       the machinery broke: nothing is known about the program
"""

from __future__ import annotations

from tasks.errors import ShardtalkError
from tasks.nouns import ScorerFailure


class IsolationRefused(ShardtalkError):
    """No level as strong as required can be reached. Says what stood in the way of each."""


class SandboxFailure(ScorerFailure):
    """The sandbox did not do its work, whatever the program was."""
