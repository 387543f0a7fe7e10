"""`shardtalk data`: published datasets in the user's cache."""

from __future__ import annotations

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from tasks import fetch as fetching

_NAME = click.argument("name")


@click.group()
def data() -> None:
    """Fetch published datasets, and find them. There is `lost-in-conversation`."""


@data.command()
@_NAME
@click.option("--base-url", envvar="SHARDTALK_DATA_URL", hidden=True, help="Where the files lie instead.")
def fetch(name: str, base_url: str | None) -> None:
    """Fetch a published dataset into the cache and verify it; a broken download is continued."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        by_name: dict[str, TaskID] = {}

        def show(file: fetching.RemoteFile, there: int, total: int | None) -> None:
            if file.name not in by_name:
                by_name[file.name] = bars.add_task(file.name)
            bars.update(by_name[file.name], completed=there, total=total)

        paths = fetching.fetch_all(name, show, base_url)
    for path in paths:
        click.echo(path)
    click.echo(f"licence: {fetching.dataset(name).licence}", err=True)


@data.command()
@_NAME
def path(name: str) -> None:
    """Print where a dataset's files are; those not fetched yet are an error."""
    for file in fetching.dataset(name).files:
        click.echo(fetching.published(name, file.tasks[0]))
