"""The simulator's branches of the error tree, and the failures that end a conversation.

ShardtalkError (tasks/errors.py)
├── ExperimentError       a run that cannot be planned: contradicting or missing settings
├── StoreError            the run folder: another schema, another experiment, a second writer
└── ModelError            a model that cannot be made: package, key or file missing

Failure                   a conversation that could not go on; recorded with its party, never raised to the user
"""

from __future__ import annotations

from tasks.errors import ShardtalkError


class ExperimentError(ShardtalkError):
    """The experiment contradicts itself or lacks something."""


class StoreError(ShardtalkError):
    """The run folder cannot be used."""


class ModelError(ShardtalkError):
    """A model cannot be made from its name."""


class Failure(Exception):
    """A conversation ends here, and it is known whose fault it was.

    Args:
        party: `assistant`, `user`, `judge`, `scorer`, `infrastructure` or `budget` (design, section 3).
        cause: a short stable name (`context_exceeded`, `rate_limit`, …), what reports count.
        detail: the message of the underlying error.
        stop_run: no other conversation can succeed either (wrong key, quota used up).
    """

    def __init__(self, party: str, cause: str, detail: str = "", *, stop_run: bool = False) -> None:
        self.party, self.cause, self.detail, self.stop_run = party, cause, detail, stop_run
        super().__init__(f"{party}: {cause}" + (f": {detail}" if detail else ""))


class Halt(Exception):
    """The run is being stopped, by the user, a budget or an error no call can get past; the conversation stays owed."""


class Lost(Exception):
    """The worker that played a conversation has died; what it paid for is in the journal."""


class CallFailed(Exception):
    """A model call that did not succeed, before anyone decides whose failure it is.

    Models raise it; `ask` retries those with `retry` and turns the last one into a `Failure` of the role it served.

    Args:
        cause: `rate_limit`, `quota`, `server`, `connection`, `timeout`, `auth`, `bad_request`, `content_filter`,
            `context_exceeded`, `malformed`, or `unexpected`.
        retry: the same call may succeed later.
        after: seconds the server told us to wait (Retry-After), never undercut.
        stop_run: no call to this model can succeed (wrong key, quota used up).
    """

    def __init__(
        self, cause: str, detail: str = "", *, retry: bool = False, after: float | None = None, stop_run: bool = False
    ) -> None:
        self.cause, self.detail, self.retry, self.after, self.stop_run = cause, detail, retry, after, stop_run
        super().__init__(f"{cause}: {detail}" if detail else cause)
