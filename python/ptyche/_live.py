"""In a notebook: a progress bar with the loss and the newest image, in place of the cell's output."""
from __future__ import annotations

import base64
import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ._job import Event, Job

SECONDS_BETWEEN = 0.5


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextlib.contextmanager
def shown_live(job: Job[Any]) -> Iterator[Callable[[Event], object] | None]:
    """What to call with each event; None where there is nobody to see it."""
    if not _in_notebook():
        yield None
        return
    from IPython.display import HTML, display
    handle = display(HTML("<progress></progress>"), display_id=True)
    last = 0.0
    newest: Event | None = None

    def show(event: Event) -> None:
        nonlocal last, newest
        newest = event
        if time.monotonic() - last < SECONDS_BETWEEN and event["done"] < event["total"]:
            return
        last = time.monotonic()
        handle.update(HTML(live_html(event, _picture(job))))

    # A solver that ends early would leave a half-filled bar with seconds that never pass.
    full = False
    try:
        yield show
        full = True
    finally:
        if newest is None:
            handle.update(HTML(""))
        else:
            handle.update(HTML(live_html(Event({**newest, "seconds_left": None}), _picture(job), full)))


def _picture(job: Job[Any]) -> bytes | None:
    file = job.folder.path / "phase.png" if job.folder else None
    return file.read_bytes() if file is not None and file.is_file() else None


def live_html(event: Event, picture: bytes | None, full: bool = False) -> str:
    done = event["total"] if full else event["done"]
    bar = (f'<progress value="{done}" max="{event["total"]}"></progress> '
           f"{html.escape(str(event))}")
    image = "" if picture is None else (
        f'<br><img width="300" src="data:image/png;base64,{base64.b64encode(picture).decode()}">')
    return f"<div>{bar}{image}</div>"
