"""In which language a text is written, as far as its script and its small words tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_SMALL_WORDS = {
    "English": "the and is are was were with from that this have has not for you it of be will should must when then"
    " before after which into its by an on",
    "German": "der die das und ist sind war nicht mit von für auf den dem ein eine einen wird werden noch auch nach"
    " bei wenn dann muss soll im zu als aus oder aber bitte",
    "French": "le les des et est sont pas avec pour dans une du que qui sur aux être il faut puis ensuite par ce"
    " cette avant après",
    "Spanish": "el los las y es son con para en una del que por se al como hay pero después antes está debe esta",
    "Portuguese": "o os as e é são não com para em uma do da que por se ao como mas depois antes está deve",
    "Italian": "il lo gli e è sono non con per una del della che si di come ma dopo prima deve nel",
    "Dutch": "de het een en is zijn niet met van voor op dat wordt te bij maar dan naar moet",
    "Polish": "i w na nie jest są z do że się to po dla ale jak oraz przed",
    "Turkish": "ve bir bu için ile değil olarak sonra önce gibi daha",
}
_BY_WORD: dict[str, list[str]] = {}
for _name, _words in _SMALL_WORDS.items():
    for _word in _words.split():
        _BY_WORD.setdefault(_word, []).append(_name)

_SCRIPTS = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Chinese", re.compile(r"[\u4e00-\u9fff]")),
    ("Cyrillic", re.compile(r"[\u0400-\u04ff]{2,}")),
    ("Greek", re.compile(r"[\u0370-\u03ff]{2,}")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]{2,}")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]{2,}")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]{2,}")),
)
# A user who names a language may have asked for it.
_ASKED = {
    "English": r"english|englisch|anglais|ingl[eé]s|inglese|engels|英語|英语|английск\w*|영어",
    "German": r"german|deutsch|allemand|alem[aáã]n|tedesco|ドイツ語|德语|немецк\w*",
    "French": r"french|französisch|français|franc[eé]s|francese|フランス語|法语|французск\w*",
    "Spanish": r"spanish|spanisch|espagnol|español|espanhol|spagnolo|スペイン語|西班牙语|испанск\w*",
    "Portuguese": r"portuguese|portugiesisch|portugais|portugu[eê]s",
    "Italian": r"italian|italienisch|italien|italiano",
    "Dutch": r"dutch|niederländisch|nederlands",
    "Polish": r"polish|polnisch|polski",
    "Turkish": r"turkish|türkisch|türkçe",
    "Japanese": r"japanese|japanisch|日本語|日语",
    "Chinese": r"chinese|chinesisch|中文|中国語",
    "Korean": r"korean|koreanisch|한국어",
    "Cyrillic": r"russian|russisch|ukrainian|русск\w*|українськ\w*|по-русски",
}
_NAMED = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _ASKED.items()}
_WIDE_NAMED = re.compile(
    r"英語|英语|日本語|日语|中文|中国語|法语|德语|ドイツ語|フランス語|영어|한국어"
)
_CODE = re.compile(
    r"`[^`\n]*`|https?://\S+|[“\"][^”\"\n]*[”\"]|\S*[/\\_.:=<>{}()\[\]#@]\S*|\b\w*[A-Z]\w*[A-Z]\w*\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 4  # small words that decide
_READ = 20_000  # characters
_SHARE = 0.2  # of the messages: so many make a language one of the user's


def language(text: str) -> str:
    """Return the English name of the language, or of the script; "" when the text does not tell.

    Code, paths and quotations do not count.
    """
    prose = _CODE.sub(" ", text[:_READ])
    words = _WORD.findall(prose.lower())
    for name, script in _SCRIPTS:
        found = len(script.findall(prose))
        latin = sum(1 for word in words if word.isascii())
        if found >= _LEAST and found >= latin:
            return name
    hits = Counter(name for word in words for name in _BY_WORD.get(word, ()))
    ranked = [*hits.most_common(2), ("", 0), ("", 0)]
    (best, most), (_, next_most) = ranked[0], ranked[1]
    clear = most >= _LEAST and most >= 1.5 * next_most and most >= 0.08 * len(words)
    return best if clear else ""


def languages_of(messages: Iterable[str]) -> set[str]:
    """Return the languages in which a good part of the messages is written; empty when they do not tell."""
    texts = [message for message in messages if message.strip()]
    told = Counter(filter(None, map(language, texts)))
    if not told:
        whole = language("\n".join(texts))
        return {whole} if whole else set()
    total = sum(told.values())
    return {name for name, count in told.items() if count >= _SHARE * total}


def named_languages(messages: Iterable[str]) -> set[str]:
    """Return the languages that the messages name: "answer in English" allows English."""
    text = "\n".join(messages)
    names = {name for name, pattern in _NAMED.items() if pattern.search(text)}
    wide = " ".join(_WIDE_NAMED.findall(text))
    return names | {name for name, pattern in _NAMED.items() if wide and pattern.search(wide)}
