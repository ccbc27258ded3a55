"""Rules that their user has taken back: "forget what I said about curl".

Such a sentence is a rule itself, since the host's own summary may still hold the old one. What it takes back is found
by the words that both share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepthread.handoff.facts.rule_words import is_english, is_question, strength
from keepthread.handoff.facts.text import all_sentences, lazy, word_set

_LONGEST = 400
_SHARE = 0.75  # of the words that say what is meant
_STEM = 4  # letters that two forms of a word have in common at least
_RULE = (
    r"(?:rules?|instructions?|bans?|restrictions?|constraints?|requirements?|conventions?"
    r"|wish(?:es)?)"
)
_TAKES_BACK = lazy(
    # "Drop the unique constraint" and "ignore the lint rule" speak of code: what is meant must have been said.
    r"\b(?:forget|disregard|ignore|scrap|scratch|never\s?mind)\s+(?:about\s+)?(?:what(?:ever)?\s+i(?:[’']ve)?\s+"
    r"|everything\s+i\s+)"
    r"|\b(?:forget|disregard|never\s?mind)\s+(?:about\s+)?(?:the|that|this|those|these)\s+(?:[^\s.,;]+\s+){0,3}?"
    + _RULE
    + r"\b|\b(?:forget|disregard|ignore|scrap|scratch|drop|lift|revoke|withdraw|never\s?mind)\s+(?:about\s+)?"
    r"(?:(?:my|our)\s+(?:[^\s.,;]+\s+){0,3}?"
    + _RULE
    + r"|(?:the|that)\s+(?:[^\s.,;]+\s+){0,2}?(?:rules?|bans?|instructions?)\s+(?:about|on|against|i\s+gave"
    r"|from\s+(?:before|earlier)))\b"
    r"|\b"
    + _RULE
    + r"\s+(?:about|on|for|against)\s+.{1,60}\s(?:off|gone|lifted|void|obsolete|no\s+longer)\b"
    r"|\b(?:no\s+longer|doesn[’']?t|don[’']?t|does\s+not|do\s+not)\s+appl(?:y|ies)\b"
    r"|\byou\s+(?:no\s+longer\s+(?:need|have)\s+to|(?:don[’']?t|do\s+not)\s+(?:need"
    r"|have)\s+to\s+.{1,80}\s(?:any\s*more|any\s+longer|after\s+all))\b"
    r"|\bvergiss,?\s+(?:bitte\s+)?(?:was\s+ich|die\s+(?:\S+\s+)?(?:regel|vorgabe|ansage)|meine)"
    r"|\bignorier\w*\s+(?:was\s+ich|meine|die\s+\S*regel)"
    r"|\b(?:gilt|gelten)\s+nicht\s+mehr\b|\bmusst\s+.{1,60}\snicht\s+mehr\b"
    r"|\boublie[zr]?\s+(?:ce\s+que\s+j[’']ai|(?:la|cette|ma)\s+(?:règle|consigne))|\bne\s+s[’']applique(?:nt)?\s+plus\b"
    r"|\bolvid[ae]\w*\s+(?:lo\s+que\s+(?:te\s+)?dije|(?:la|esa|mi)\s+regla)|\bya\s+no\s+(?:aplica|vale|rige"
    r"|hace\s+falta|es\s+necesari[oa])"
    r"|\besque[cç]\w+\s+(?:o\s+que\s+(?:eu\s+)?(?:disse|falei)|a\s+regra)|\bnão\s+vale\s+mais\b"
    r"|\bdimentica\w*\s+(?:quello\s+che|ciò\s+che|la\s+regola)"
    r"|\bnon\s+vale\s+più\b|\bvergeet\s+(?:wat\s+ik|de\s+regel|mijn)|\bgeldt\s+niet\s+meer\b|\bzapomnij\s+(?:o\s+tym|co\s+mówi|o\s+zasadzie)"
    r"|\bjuż\s+nie\s+obowiązuj|забудь\s+(?:про\s+то|о\s+том|то|что|правило|про\s+правило)"
    r"|больше\s+не\s+(?:действует|нужно|обязательно)"
    r"|забудь\s+(?:те|що)|більше\s+не\s+(?:діє|потрібно)|(?:忘掉|忘记|忘了|忽略|撤回|收回|取消|不用管).{0,24}(?:说的|說的|规则|規則|要求|限制)"
    r"|(?:说的|說的|规则|規則|要求|限制).{0,16}(?:作废|作廢|不算|不用管|忽略|取消)|不再(?:适用|適用)|(?:言った|伝えた|ルール|指示|制約).{0,12}(?:忘れて|無視して|撤回|取り消)"
    r"|(?:말한|규칙|지시).{0,12}(?:잊어|무시|취소)|더\s*이상\s*.{0,20}필요\s*없",
    re.IGNORECASE,
)
# A permission takes back what forbids, and leaves alone what is always to be done. "curl is ok again" tells that it
# works as often as that it may be used.
_PERMITS = lazy(
    r"\b(?:is|are)\s+(?:now\s+|actually\s+)?(?:(?:ok|okay|fine|allowed|permitted|acceptable)\s+(?:to\s+use\s+)?"
    r"after\s+all|(?:allowed|permitted|acceptable|(?:ok|okay|fine)\s+to\s+use)\s+again)\b"
    r"|\byou\s+(?:can|may)\s+(?:now\s+)?(?:(?!this\b|these\b)\S+\s+){1,6}?after\s+all\b"
    r"|\byou\s+(?:can|may)\s+(?:now\s+)?use\s+(?:\S+\s+){1,4}?again\b"
    r"|\b(?:ist|sind)\s+(?:jetzt\s+)?(?:(?:doch|wieder)\s+erlaubt|doch\s+(?:ok(?:ay)?|in\s+ordnung))"
    r"|\bdu\s+(?:darfst|kannst)\s+(?:\S+\s+){0,5}?doch\b|\bdarfst\s+(?:du\s+)?(?:\S+\s+){0,5}?wieder\b"
    r"|\btu\s+peux\s+(?:\S+\s+){1,5}?finalement\b|\bmag\s+(?:toch|weer)\b|можно\s+(?:снова|всё-таки)"
    r"|(?:使って|触って|変えて)も(?:いい|良い|大丈夫|OK)",
    re.IGNORECASE,
)
_ALWAYS = lazy(
    r"\b(?:always|immer|toujours|siempre|sempre|altijd|zawsze|всегда|завжди)\b|必ず|常に|总是|始终|一定|항상|반드시",
    re.IGNORECASE,
)
_FOR_NOW = lazy(
    r"\bfor\s+(?:now|the\s+moment)\b|\b(?:this|just|only)\s+once\b|\b(?:vorerst|erst\s?mal|ausnahmsweise)\b"
    r"|\bpour\s+l[’']instant\b|\bpor\s+ahora\b|\bpor\s+enquanto\b|\bper\s+ora\b|\bvoorlopig\b|пока\b|暂时|暫時|とりあえず|일단",
    re.IGNORECASE,
)
_KEEPS = lazy(
    r"(?:don[’']?t|do\s+not|never|nicht|niemals|n[’']|\bno\b|não|non|не)\s*(?:ever\s+|please\s+)?(?:forget"
    r"|disregard|ignore|drop|lift|vergiss|oublie|olvid|esque|dimentic|vergeet|забыв)",
    re.IGNORECASE,
)
_CLAUSE = lazy(r"[,;，；]")
_WORDS = lazy(
    r"[぀-ゟ]+|[゠-ヿ]{2,}|[一-鿿]{2,}|[가-힣]{2,}|[^\W_぀-鿿가-힣](?:(?![぀-鿿가-힣])[\w.+#-])*"
)
_COMMON = word_set(
    """forget disregard ignore scrap scratch drop lift revoke withdraw nevermind never mind about what whatever said
    told wrote asked say i the that this those these my our rule rules instruction instructions ban bans
    restriction restrictions constraint constraints requirement requirements limit limits convention conventions
    request requests wish wishes earlier previous last old everything is are it its ok okay fine allowed
    permitted acceptable now actually again after all you can may use using used to no longer need needed have don dont
    doesn do does not apply applies any more anymore and or but so for on against of in with from before
    please off gone lifted void obsolete always then just a an me we will be was vergiss ignoriere was ich über uber
    die der das den dem regel vorgabe ansage meine mein gesagt habe hatte gilt gelten nicht mehr ist sind jetzt doch
    wieder erlaubt ordnung du darfst kannst musst benutzen verwenden mit von zu bitte oublie oubliez ce que ai
    dit sur la le les cette règle consigne ma ne appliquent applique plus tu peux utiliser finalement de des du
    olvida olvide lo dije te sobre esa mi regla ya vale aplica rige hace falta es usar esqueça esquece o eu disse
    falei regra não mais dimentica quello che ciò ho detto regola non più di su vergeet wat ik heb gezegd over regel
    geldt niet meer mag toch weer zapomnij o tym co mówiłem zasadzie już nie забудь про то о том что я говорил
    говорила сказал правило больше не действует можно снова те що говорив на"""
)
# Scripts without spaces: what is said around the thing that is meant.
_COMMON_WIDE = lazy(
    r"规则|規則|要求|限制|之前|前面|以前|刚才|剛才|关于|關於|忘掉|忘记|忘了|忽略|撤回|收回|取消|作废|作廢|不用管|那条|我|说|說|的|了|吧"
    r"|ルール|指示|制約|使用|잊어|무시|취소|규칙|지시"
)


def takes_back(sentence: str) -> bool:
    """Return whether a sentence takes back something that was said before."""
    bounded = sentence[:_LONGEST]
    return (
        not is_question(bounded)
        and bool(_TAKES_BACK.search(bounded) or _PERMITS.search(bounded))
        and not _KEEPS.search(bounded)
    )


class Taken(NamedTuple):
    """What a sentence takes back: the words that say what is meant, none when it only points or holds for now."""

    words: frozenset[str]
    permits: bool


def taken_back(sentence: str) -> Taken:
    """Return what a sentence takes back, given that it does so."""
    bounded = sentence[:_LONGEST]
    words = () if _FOR_NOW.search(bounded) else _words(bounded) - _COMMON
    return Taken(frozenset(words), permits=not _TAKES_BACK.search(bounded))


def all_taken_back(texts: Iterable[str]) -> list[Taken]:
    """Return what the texts take back."""
    return [taken_back(part) for text in texts for part in all_sentences(text) if takes_back(part)]


def is_withdrawn(text: str, taken: Sequence[Taken]) -> bool:
    """Return whether a sentence of the text is among what was taken back."""
    parts = all_sentences(text) if any(each.words for each in taken) else []
    return any(_is_meant(part, each) for part in parts if not takes_back(part) for each in taken)


def _is_meant(rule: str, taken: Taken) -> bool:
    if not taken.words or (taken.permits and _ALWAYS.search(rule)):
        return False
    if not _holds(rule, taken.words):
        return False
    # "No emojis, and never use mocks": who takes back the one still means the other.
    others = [clause for clause in _CLAUSE.split(rule) if not _holds(clause, taken.words)]
    return not any(strength(clause, english=is_english(rule)) == 3 for clause in others)


def _holds(text: str, meant: frozenset[str]) -> bool:
    words = _words(text)
    held = sum(1 for word in meant if any(_same(word, other) for other in words))
    return held >= _SHARE * len(meant)


def _words(text: str) -> set[str]:
    bare = _COMMON_WIDE.sub(" ", text.casefold())
    found = (word.rstrip(".-") for word in _WORDS.findall(bare))
    return {word for word in found if len(word) > 1 and not "぀" <= word[0] <= "ゟ"}


def _same(one: str, other: str) -> bool:
    """Return whether two words are one, or two forms of one: "touch" and "touching"."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if "぀" <= shorter[0] <= "힣":
        return shorter in longer  # a script without spaces, or with particles behind its words
    return len(shorter) >= _STEM and longer.startswith(shorter) and len(longer) - len(shorter) <= 3
