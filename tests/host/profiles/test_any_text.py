"""Whatever stands in an environment, a start file or a profile: an answer or a refusal, never a bug."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from keepthread.errors import KeepthreadError
from keepthread.host.profiles import reading, sources
from keepthread.host.profiles.catalogue import CATALOGUE
from keepthread.host.profiles.lint import lint_values

NAMES = st.sampled_from(sorted(CATALOGUE))
NUMBERS = st.from_regex(
    r"[+-]?[0-9]{0,400}(\.[0-9]*)?([eE][+-]?[0-9]{1,6})?[kKmM%_,]?", fullmatch=True
)
VALUES = st.one_of(st.text(), NUMBERS)


@given(st.dictionaries(st.one_of(NAMES, st.text()), VALUES))
def test_values_are_judged(values):
    for found in lint_values(values):
        assert found.name in values
        assert found.message


@given(st.text(), st.booleans())
def test_a_start_file_is_read(text, fish):
    assert all(isinstance(value, str) for value in sources.shell_values(text, fish=fish).values())


@given(
    st.lists(
        st.sampled_from(
            ["export ", "A=1", "'", '"', "\\", " ", "\n", "$B", "unset A", ";", "set -gx A 1", "#"]
        )
    ).map("".join)
)
def test_a_start_file_of_broken_quotes_is_read(text):
    for fish in (False, True):
        assert "$" not in "".join(sources.shell_values(text, fish=fish).values())


@given(st.text())
def test_a_profile_is_read_or_refused(text):
    with suppress(KeepthreadError):
        assert all(
            value == "" or value.isprintable() for value in reading.parse(text, "x.env").values()
        )
    reading.parse(text, "x.env", every=True)
