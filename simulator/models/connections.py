"""The sockets: one aiohttp session per event loop and endpoint, shared by every model that talks to it.

A session is made inside the loop that uses it, at the first call, and closed by the last model that lets go of it.
"""

from __future__ import annotations

import asyncio
import urllib.request
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Shared:
    def __init__(self, endpoint: str) -> None:
        self.users = 0
        # How many calls run at once is the engine's to decide, so the pool has no bound of its own.
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300), cookie_jar=aiohttp.DummyCookieJar()
        )


#: Empty until a model makes its first call.
_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Shared]] = WeakKeyDictionary()


class Connection:
    """One model's hold on the shared session of its endpoint.

    Attributes:
        proxy: from the environment (`HTTPS_PROXY`, …), found once; a server on this machine is always reached directly.
    """

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.proxy = _proxy(endpoint)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._shared: _Shared | None = None

    def session(self) -> aiohttp.ClientSession:
        """The session for the running loop."""
        loop = asyncio.get_running_loop()
        if self._shared is None or self._loop is not loop:
            here = _sessions.setdefault(loop, {})
            if self.endpoint not in here:
                here[self.endpoint] = _Shared(self.endpoint)
            self._loop, self._shared = loop, here[self.endpoint]
            self._shared.users += 1
        return self._shared.session

    async def close(self) -> None:
        """Lets go; the last one closes the sockets. A later call opens them again."""
        loop, shared, self._loop, self._shared = self._loop, self._shared, None, None
        if loop is None or shared is None:
            return
        shared.users -= 1
        if not shared.users:
            del _sessions[loop][self.endpoint]
            await shared.session.close()


def _proxy(endpoint: str) -> str | None:
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
