"""Tells that a provider refused a request because it was too large, and reads out how large it was.

Providers say it in words of their own, most of them with numbers. What only looks alike is told apart: a rate limit
that passes, an empty account, a bound on the answer's length, a rule about reasoning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A message is a sentence or two; what comes behind may quote the request.
_HEAD = 6_000


@dataclass(frozen=True, slots=True)
class Overflow:
    """A request that was too large.

    Attributes:
        tokens: how many tokens the provider counted, the reserved answer included where it counts that; None: it did
            not say.
        limit: how many it takes, counted in the same way; None: it did not say.
        terminal: the request is larger than all its user may send in a minute, so no waiting helps, and what would
            fit is no summary any more.
    """

    tokens: int | None = None
    limit: int | None = None
    terminal: bool = False


_N = r"\(?(\d[\d,_]*)"
_T = _N.replace("(\\d", "(?P<tokens>\\d")
_L = _N.replace("(\\d", "(?P<limit>\\d")
_M = _N.replace("(\\d", "(?P<more>\\d")

# What an account may send in a minute: with a request beyond the whole of it no waiting helps.
_PER_MINUTE = re.compile(
    rf"tokens per min\w*.{{0,80}}?limit:? {_L},? requested:? {_T}", re.IGNORECASE
)

_OTHER = re.compile(
    # A limit that passes, or money.
    r"rate[ _-]?limit|too many requests|tokens per (?:min|day|hour)|throttl|please wait before trying"
    r"|\bquota|resource[ _]exhausted|billing|credit|insufficient (?:balance|funds)|can only afford|payment|subscription"
    r"|upgrade to a paid|usage limit|spend(?:ing)? limit|余额|欠费|限流"
    # A bound on the answer alone.
    r"|maximum allowed number of output tokens|supports at most [\d,]+ completion"
    r"|max(?:imum)?[_ ](?:completion[_ ]|output[_ ])?tokens\W{0,3} (?:must be|should be|exceeds? the limit|cannot be)"
    r"|max_tokens or model output limit|invalid max_tokens"
    # A rule about reasoning.
    r"|thinking\.(?:budget_tokens|type)|thinking budget|budget_tokens"
    r"|reasoning(?:_content|_effort)?[\w\s`'\".]{0,40} (?:is (?:mandatory|required|not supported)|must be|cannot be)"
    r"|requires reasoning|unsupported parameter",
    re.IGNORECASE,
)

# Sentences with numbers, the telling ones first. `more` is what the answer was to take on top.
_COUNTED = (
    rf"{_T} tokens? > {_L} (?:tokens? )?maximum",
    rf"exceed context limit: {_T} \+ {_M} > {_L}",
    rf"maximum context length is {_L} tokens? and your request has {_T} input tokens \({_M} >",
    r"\"n_prompt_tokens\"\s*:\s*(?P<tokens>\d+)\s*,\s*\"n_ctx\"\s*:\s*(?P<limit>\d+)",
    rf"request {_T} tokens\) exceeds the available context size {_L}",
    rf"n_keep: {_T} >= n_ctx: {_L}",
    rf"keep the first {_T} tokens.{{0,120}}context length of only {_L}",
    rf"input token count[: ]+{_T}\)? exceeds the maximum number of tokens allowed {_L}",
    rf"input token count is {_T} but model only supports up to {_L}",
    rf"maximum prompt length is {_L} but the request contains {_T}",
    rf"cannot exceed {_L} - received {_T}",
    rf"contains {_T} tokens.{{0,80}}too large for model with {_L}",
    rf"exceeded model token limit:? {_L} \(requested:? {_T}",
    rf"input tokens {_T}\) has exceeded max_prompt_tokens {_L}",
    rf"must be <= {_L}\. given: {_T} `inputs` tokens and {_M}",
    rf"must have less than {_L} tokens\. given: {_T}",
    rf"max input tokens: {_L}.{{0,40}}input token count: {_T}",
    rf"(?:input|prompt) is too long: {_T}, model maximum context length: {_L}",
    rf"current length is {_T} while limit is {_L}",
    rf"decoder prompt \(length {_T}\) is longer than the maximum model length of {_L}",
    rf"(?:total )?length {_T}\) is too long to fit into the model \(context length {_L}",
    rf"input {_T} tokens\) is longer than the model.s context length {_L}",
    rf"(?:input|prompt) (?:length|token count)(?: of)? {_T}\)? exceeds.{{0,60}}? {_L}",
    rf"(?:prompt|request|input) has {_T} tokens.{{0,60}}context (?:size|length|window) is {_L}",
    rf"prompt tokens {_T}\) exceeds context size {_L}",
    rf"requested tokens {_T}\) exceed context window of {_L}",
    rf"output tokens {_T}\) exceeded this model context window limit {_L}",
    rf"tokens in (?:the )?prompt:? {_T}.{{0,80}}(?:limit|maximum|max)\D{{0,20}}{_L}",
    rf"(?:maximum context|maximum model|configured limit|context)[\w ]{{0,12}}(?: length)?(?: is| of)(?: only)? {_L}"
    rf"(?: tokens?)?\W{{1,3}}(?:however,? )?(?:but )?(?:you|your|the)\b[^.]{{0,60}}?"
    rf"(?:requested|resulted in|contains?|has|have|a total of|about|is) {_T}",
    # Only the limit is said.
    rf"maximum (?:context|prompt|model|input) length(?: is| of) {_L}",
    rf"configured limit of {_L}",
    rf"exceeds the maximum number of tokens allowed {_L}",
    rf"range of input length should be \[\d+, ?{_L}\]",
    rf"request body too large for [\w./-]+ model\. max size: {_L} tokens",
    rf"exceeded model token limit:? {_L}",
    rf"context length is only {_L}",
)
_PATTERNS = tuple(re.compile(sentence, re.IGNORECASE | re.DOTALL) for sentence in _COUNTED)

_SAID = re.compile(
    r"(?:prompt|input|request|conversation|context|message)s?(?: tokens?)?(?: is| are)? too (?:long|large)\b"
    r"|too long for (?:the |this )?(?:requested )?model|too large for (?:the |this )?model"
    r"|(?:context|model)[_ ](?:context_)?(?:length|window|size)(?:_size)?[_ ](?:has been )?exceed"
    r"|exceed_context_size|context_exceeded|model_context_window_exceeded|tokens_limit_reached"
    r"|exceed(?:s|ed|ing)? (?:the |this )?(?:model.?s? )?(?:max(?:imum)? )?(?:available |allowed )?"
    r"(?:context|input|prompt)[_ ](?:window|length|size|tokens)"
    r"|context window exceeds|maximum context length|context (?:the )?overflow"
    r"|greater than the context length|exceed(?:s|ed)? (?:the )?model token limit"
    r"|reduce the (?:length|number|size) of (?:the |either |your )?(?:messages?|prompt|input|one|tokens)"
    r"|too many (?:input|prompt|total) tokens|too many tokens: |too many tokens in"
    r"|input tokens? exceed|number of input tokens exceeds|input (?:exceeds|token count exceeds) the maximum number"
    r"|max(?:imum)? (?:message|prompt|input) tokens|exceed max message tokens|token limit exceeded"
    r"|request_too_large|request entity too large|request exceeds the maximum size|payload size exceeds"
    r"|prompt \W{0,2}超长|(?:输入|上下文|长度|token)\D{0,12}(?:超过|超出|超长|过长|超限)",
    re.IGNORECASE,
)


def recognise(text: str) -> Overflow | None:
    """Return what an error text says of a request that was too large, or None when it speaks of something else.

    Args:
        text: the message or the whole body of an error answer; never a model's answer, which may be about limits.
    """
    head = " ".join(text[:_HEAD].replace("\\n", " ").replace("\\u003e", ">").split())
    spent = _PER_MINUTE.search(head)
    if spent:
        return _beyond_a_minute(spent)
    if _OTHER.search(head):
        return None
    for pattern in _PATTERNS:
        found = pattern.search(head)
        if found:
            return _counted(found)
    return Overflow() if _SAID.search(head) else None


def _beyond_a_minute(found: re.Match[str]) -> Overflow | None:
    tokens, limit = _number(found["tokens"]), _number(found["limit"])
    return Overflow(tokens, limit, terminal=True) if tokens > limit else None


def _counted(found: re.Match[str]) -> Overflow:
    parts = found.groupdict()
    limit = _number(parts["limit"])
    tokens = _number(parts["tokens"]) if parts.get("tokens") else None
    if tokens is not None and parts.get("more"):
        tokens += _number(parts["more"])
    # A count within the limit was misread, or counts something else.
    return Overflow(tokens if tokens is not None and tokens > limit else None, limit)


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text))
