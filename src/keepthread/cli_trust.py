"""`memory trust`: whether a team's memory may be shown to the model. Added to the `memory` commands."""

from __future__ import annotations

import json
import os
import sys

import click

from keepthread.cli_output import json_option, print_found, say
from keepthread.errors import KeepthreadError


@click.command(short_help="Decide whether sessions are shown the team's memory.")
@click.option("--revoke", is_flag=True, help="Keep it out of the context again.")
@click.option("--yes", is_flag=True, help="Do not ask: for scripts.")
@json_option
def trust(revoke: bool, yes: bool, as_json: bool) -> None:
    """Look at where the team's memory comes from and who wrote it, and say whether sessions are shown it.

    Nothing of it is shown before that. --json without --yes only looks.
    """
    from keepthread.memory import vouching
    from keepthread.memory.places import place_of

    place = place_of(dict(os.environ), os.getcwd())
    told = vouching.offer(place)
    if not as_json:
        say(vouching.text(told))
    if revoke:
        vouching.revoke(place, told)
    elif not yes and as_json:
        say(json.dumps(told.as_json(), indent=2))  # only looked at
        return
    elif yes or _says_yes():
        vouching.accept(place, told)
    else:
        say("Nothing is changed.")
        return
    after = vouching.offer(place)
    print_found(after.as_json(), _CAME_TO.get(after.standing, after.standing), as_json)


_CAME_TO = {
    "trusted": "It is trusted: sessions of this project are shown what is relevant of it.",
    "refused": "It is not trusted: no session is shown anything of it.",
}


def _says_yes() -> bool:
    if not sys.stdin.isatty():
        raise KeepthreadError("Nobody is here to be asked", "Look at it, then add --yes.")
    return click.confirm("Show what is relevant of it to the sessions of this project?")
