"""Where the host compacts: the measured points, the chain of windows, and how the host reads odd values."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.thresholds import DOCUMENT, MARK, SETUPS, begun
from keepthread.host.thresholds import CONTEXT, OUTPUT, PERCENT, WINDOW, thresholds

SONNET, OPUS, HAIKU, OTHER = "claude-sonnet-4-6", "claude-opus-5-5", "claude-haiku-4-5", "my-model"


@pytest.mark.parametrize(
    ("model", "env", "threshold"),
    [
        (SONNET, {}, 167_000),
        (OPUS, {}, 967_000),
        ("sonnet", {}, 967_000),
        ("opus[1m]", {}, 967_000),
        (SONNET, {PERCENT: "80"}, 144_000),
        (SONNET, {PERCENT: "50"}, 90_000),
        (SONNET, {PERCENT: "99"}, 167_000),
        (SONNET, {PERCENT: "150"}, 167_000),
        (SONNET, {PERCENT: "0"}, 167_000),
        (SONNET, {PERCENT: "-5"}, 167_000),
        (SONNET, {PERCENT: "half"}, 167_000),
        (SONNET, {PERCENT: "50.5x"}, 90_900),
        (SONNET, {PERCENT: "0.5"}, 900),
        (SONNET, {PERCENT: " +80% "}, 144_000),
        (SONNET, {PERCENT: "8e1"}, 144_000),
        (SONNET, {PERCENT: ".8e+2"}, 144_000),
        (SONNET, {PERCENT: "800e-1"}, 144_000),
        (SONNET, {PERCENT: "80,5"}, 144_000),
        (SONNET, {PERCENT: "Infinity"}, 167_000),
        (OPUS, {PERCENT: "50"}, 490_000),
        (SONNET, {WINDOW: "120000"}, 87_000),
        (SONNET, {WINDOW: "120000", PERCENT: "50"}, 50_000),
        (SONNET, {WINDOW: "120000", PERCENT: "50", OUTPUT: "8000"}, 56_000),
        (SONNET, {WINDOW: "50000"}, 67_000),
        (SONNET, {WINDOW: "900000"}, 167_000),
        (SONNET, {WINDOW: "130_000"}, 97_000),
        (SONNET, {WINDOW: "1.3e5"}, 97_000),
        (SONNET, {WINDOW: "130000x"}, 97_000),
        (SONNET, {WINDOW: "120k"}, 87_000),
        (OPUS, {WINDOW: "0.5m"}, 467_000),
        (SONNET, {WINDOW: ".12m"}, 87_000),
        (SONNET, {WINDOW: "+120000"}, 87_000),
        (SONNET, {WINDOW: "-120000"}, 167_000),
        (SONNET, {WINDOW: "120,000"}, 87_000),
        (SONNET, {WINDOW: "120,000k"}, 87_000),
        (SONNET, {WINDOW: "120_000k"}, 87_000),
        (SONNET, {WINDOW: "150 000"}, 117_000),
        (SONNET, {WINDOW: "1.5e2k"}, 117_000),
        (SONNET, {WINDOW: "1,200,00"}, 67_000),
        (SONNET, {WINDOW: ""}, 167_000),
        (SONNET, {WINDOW: "0"}, 167_000),
        (SONNET, {WINDOW: "large"}, 167_000),
        (HAIKU, {WINDOW: "120000"}, 87_000),
        (f"{SONNET}[1m]", {WINDOW: "500000"}, 467_000),
        (SONNET, {OUTPUT: "8000"}, 179_000),
        (SONNET, {OUTPUT: "8_000"}, 179_000),
        (SONNET, {OUTPUT: "8e3"}, 179_000),
        (SONNET, {OUTPUT: "8,000"}, 179_000),
        (SONNET, {OUTPUT: "8,000k"}, 186_992),
        (SONNET, {OUTPUT: "+8000"}, 179_000),
        (SONNET, {OUTPUT: " 8000 tokens"}, 179_000),
        (SONNET, {OUTPUT: "-5"}, 167_000),
        (SONNET, {OUTPUT: "8k"}, 186_992),
        (SONNET, {OUTPUT: "64000"}, 167_000),
        ("claude-3-5-haiku-latest", {WINDOW: "120000"}, 98_808),
        ("claude-3-5-haiku-latest", {WINDOW: "120000", OUTPUT: "20000"}, 98_808),
        ("claude-3-opus-20240229", {WINDOW: "120000"}, 102_904),
        ("claude-3-7-sonnet-20250219", {WINDOW: "120000"}, 87_000),
        (SONNET, {OUTPUT: "0"}, 167_000),
        (OTHER, {CONTEXT: "100000"}, 67_000),
        (SONNET, {CONTEXT: "100000"}, 167_000),
        (OPUS, {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, 167_000),
        (f"{SONNET}[1m]", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, 167_000),
    ],
)
def test_the_points_are_those_that_were_measured(
    model: str, env: dict[str, str], threshold: int
) -> None:
    """Each was tried on the client, 500 tokens before and after; the warning stands 20,000 before."""
    point = thresholds(model, env)

    assert (point.threshold, point.warning) == (threshold, max(0, threshold - 20_000))
    assert point.enabled and point.fires_early


ACCOUNT = "arn:aws:bedrock:us-east-1:123456789012"


@pytest.mark.parametrize(
    ("model", "threshold", "early"),
    [
        ("SONNET", 967_000, True),
        (" sonnet ", 967_000, True),
        ("Opus[1M]", 967_000, True),
        ("haiku[1m]", 967_000, True),
        ("opusplan", 967_000, True),
        ("opusplan[1m]", 967_000, True),
        ("best[1m]", 967_000, True),
        ("default", 967_000, True),
        ("Claude-Sonnet-4-6", 167_000, True),
        ("claude-sonnet-4-6[1M]", None, False),
        ("claude-sonnet-4-6-20260101", 167_000, True),
        ("claude-sonnet-4-6@20260101", 167_000, True),
        ("us.anthropic.claude-sonnet-4-6-v1:0", 167_000, True),
        (f"{ACCOUNT}:inference-profile/us.anthropic.claude-sonnet-4-6-v1:0", 167_000, True),
        (f"{ACCOUNT}:application-inference-profile/abc123", None, False),
        ("anthropic/claude-sonnet-4.6", 167_000, True),
        ("claude-opus-4.6", 167_000, True),
        ("claude-haiku-4-5@20251001", None, False),
        ("claude-sonnet-4-20250514", None, False),
        ("claude-sonnet-4-0", None, False),
        ("claude-sonnet-4", None, False),
        ("claude-sonnet-4-7", 967_000, None),
        ("claude-opus-4-9", 967_000, None),
        ("claude-haiku-4-20250514", 967_000, None),
        ("claude-3-5-haiku-latest", None, False),
        ("claude-3-opus-20240229", None, False),
        ("claude-3-5-sonnet-v2@20241022", None, False),
        ("claude-opus-4-1", 967_000, True),
        ("claude-opus-4-1[1m]", 967_000, True),
        ("claude-opus-4-20250514", 967_000, True),
        ("claude-opus-4-1@20250805", None, False),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", None, False),
        ("claude-opus-4-8@default", 967_000, True),
    ],
)
def test_a_name_is_read_as_the_client_reads_it(
    model: str, threshold: int | None, early: bool | None
) -> None:
    """Each was tried on the client: large and small letters, dates, clouds, gateways, names of no version."""
    point = thresholds(model, {})

    assert (point.threshold, point.fires_early) == (threshold, early)


@pytest.mark.parametrize(
    "model", [HAIKU, "claude-sonnet-4-5", f"{SONNET}[1m]", f"{HAIKU}[1m]", f"{OTHER}[1m]"]
)
def test_models_that_wait_for_the_api_have_no_point_of_their_own(model: str) -> None:
    """Whatever the percentage says."""
    for env in ({}, {PERCENT: "50"}):
        point = thresholds(model, env)

        assert (point.threshold, point.warning, point.hard_stop) == (None, None, None)
        assert point.fires_early is False and point.enabled


def test_an_unknown_model_is_taken_for_a_large_one_and_nobody_knows_whether_it_is() -> None:
    """Unless its user tells the window, or has the host wait."""
    point = thresholds(OTHER, {})
    waiting = {"CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT": "1"}

    assert (point.window_source, point.window, point.threshold) == ("unknown", 1_000_000, 967_000)
    assert point.fires_early is None
    assert thresholds(OTHER, {CONTEXT: "300000"}).fires_early is True
    assert thresholds(OTHER, waiting).fires_early is False
    assert thresholds(OTHER, {CONTEXT: "100000"} | waiting).fires_early is False
    assert thresholds(f"{OTHER}[1m]", {CONTEXT: "100000"}).fires_early is False


def test_the_hard_stop_is_reckoned_from_the_models_own_window() -> None:
    """A smaller window for compaction does not move it; a smaller reserve does."""
    assert thresholds(SONNET, {}).hard_stop == 177_000
    assert thresholds(SONNET, {WINDOW: "120000"}).hard_stop == 177_000
    assert thresholds(SONNET, {OUTPUT: "8000"}).hard_stop == 189_000
    assert thresholds(OPUS, {}).hard_stop == 977_000
    both = {"DISABLE_COMPACT": "1", CONTEXT: "100000"}
    assert thresholds(SONNET, both).hard_stop == 77_000


@pytest.mark.parametrize(
    ("env", "settings", "by"),
    [
        ({"DISABLE_AUTO_COMPACT": "1"}, {}, "DISABLE_AUTO_COMPACT"),
        ({"DISABLE_AUTO_COMPACT": "yes"}, {"autoCompactEnabled": True}, "DISABLE_AUTO_COMPACT"),
        ({"DISABLE_COMPACT": "1"}, {}, "DISABLE_COMPACT"),
        ({}, {"autoCompactEnabled": False}, "autoCompactEnabled"),
        ({"DISABLE_AUTO_COMPACT": "0"}, {}, ""),
        ({"DISABLE_AUTO_COMPACT": "please"}, {}, ""),
    ],
)
def test_what_is_switched_off_names_its_switch(
    env: dict[str, str], settings: dict[str, Any], by: str
) -> None:
    """The hard stop stays, also for models that have none while compaction is on."""
    for model in (SONNET, HAIKU):
        point = thresholds(model, env, [settings])

        assert (point.enabled, point.off_by) == (not by, by)
        if by:
            assert (point.threshold, point.fires_early, point.hard_stop) == (None, False, 177_000)


@pytest.mark.parametrize(
    ("documents", "threshold"),
    [
        ([{"autoCompactWindow": 150_000}], 117_000),
        ([{"autoCompactWindow": b"150000"}], 117_000),
        ([{"autoCompactWindow": 50_000}], 167_000),
        ([{"autoCompactWindow": "150k"}], 167_000),
        ([{"autoCompactWindow": True}], 167_000),
        ([{"autoCompactWindow": 150_000}, {"autoCompactWindow": "auto"}], 167_000),
        ([{"autoCompactWindow": 150_000}, {"autoCompactWindow": 140_000}, {}], 107_000),
        (
            [
                {
                    "autoCompactWindow": 150_000,
                    "modelSettings": {SONNET: {"autoCompactWindow": 130_000}},
                }
            ],
            97_000,
        ),
        ([{"modelSettings": {OPUS: {"autoCompactWindow": 130_000}}}], 167_000),
        ([{"modelSettings": [], "autoCompactEnabled": None}], 167_000),
    ],
)
def test_the_settings_make_the_window_smaller(
    documents: list[dict[str, Any]], threshold: int
) -> None:
    """The strongest file that says something; values out of range say nothing."""
    assert thresholds(SONNET, {}, documents).threshold == threshold


def test_the_environment_goes_before_the_settings() -> None:
    """Their window is not looked at then."""
    point = thresholds(SONNET, {WINDOW: "130000"}, [{"autoCompactWindow": 150_000}])

    assert (point.threshold, point.limit_source) == (97_000, WINDOW)


def test_the_shape_begins_with_what_the_design_names() -> None:
    """Scripts rely on it."""
    shape = thresholds(SONNET, {}).as_dict()

    assert {name: shape[name] for name in list(shape)[:8]} == {
        "model": SONNET,
        "window": 200_000,
        "output_reserve": 20_000,
        "effective": 180_000,
        "threshold": 167_000,
        "warning": 147_000,
        "hard_stop": 177_000,
        "fires_early": True,
    }


def test_the_documented_table_is_the_formulas_and_the_client_did_the_same() -> None:
    """After a change: python -m benchmarks.thresholds --write."""
    table = DOCUMENT.read_text(encoding="utf-8").split(MARK)[1]
    lines = [line for line in table.splitlines() if line.startswith("| `")]

    assert len(lines) == len(SETUPS) >= 8
    other = [
        line for line, setup in zip(lines, SETUPS, strict=True) if not line.startswith(begun(setup))
    ]
    assert other == []
    assert "differs" not in table
