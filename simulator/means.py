"""`Means`: how a run is carried out. None of it changes what is asked, so none of it is part of a run's identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from simulator.models.access import Access

_PLAIN = Access()


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is carried out.

    Attributes:
        access: how models are reached, by role; roles without their own are reached like the assistant.
        models: ready-made models by name, used instead of making one from the name; the caller closes them.
        max_concurrency: conversations, and calls to one endpoint, under way at once; fewer as long as more does not help.
        max_retries: of one call, after the first try.
        rpm, tpm: requests and tokens per minute of one model, by its name; the name `*` stands for every model.
        budget_usd, budget_tokens: over all roles and all sessions of the run. `budget_hours`: of this session.
        engine: `local` or `ray`. `workers`: processes beside the one that writes; 0 does everything in one.
        extend: another protocol, prompt or sampling may join the records of an existing store.
    """

    access: Mapping[str, Access] = {}
    models: Mapping[str, Any] = {}
    max_concurrency: int = 128
    max_retries: int = 7
    rpm: Mapping[str, float] = {}
    tpm: Mapping[str, float] = {}
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_hours: float | None = None
    engine: str = "local"
    workers: int = 0
    extend: bool = False

    def access_of(self, role: str) -> Access:
        """How the models of a role are reached; the same object for roles that share it."""
        return self.access.get(role) or self.access.get("assistant") or _PLAIN

    def share(self, n: int) -> Means:
        """One of `n` equal shares, for a worker that runs beside others: all shares together keep the limits."""
        return msgspec.structs.replace(
            self,
            max_concurrency=max(1, self.max_concurrency // n),
            rpm={name: limit / n for name, limit in self.rpm.items()},
            tpm={name: limit / n for name, limit in self.tpm.items()},
        )
