"""Words that only say yes or go on, in many languages: they mean what the assistant proposed before them."""

from __future__ import annotations

from itertools import pairwise

from keepthread.handoff.facts.text import lazy, word_set

_SPLIT = lazy(r"[\s,.!;:~…、。！，·-]+")
_LONGEST = 40
_WORDS = word_set(
    """yes y yep yeah yup ya sure ok okay k kk fine good great nice perfect cool go ahead on do it that proceed continue
    please lgtm approved agreed right correct exactly now then and so c next keep going thanks thank you resume
    alright absolutely definitely both all of them sounds looks to me works for first second third option
    ja jo jep klar gut bitte weiter mach machen los genau einverstanden passt super danke so das
    oui ouais d'accord daccord vas-y vas y continue continuez allez-y allez bien parfait merci stp
    sí si dale vale claro adelante continúa continua sigue hazlo procede perfecto gracias por favor
    sim pode continuar continue prossiga prossegue vai faça faz isso beleza certo perfeito obrigado
    sì vai procedi avanti certo va bene perfetto grazie
    ga verder door doorgaan goed graag prima akkoord
    tak dalej kontynuuj dobrze jasne proszę rób zrób
    да давай продолжай хорошо ок ладно конечно верно делай дальше поехали
    так продовжуй добре гаразд роби далі
    evet tamam devam et olur peki lütfen
    ano jo pokračuj dobře jistě da kör på fortsätt okej kyllä jatka joo igen folytasd ναι συνέχισε כן המשך
    vâng được tiếp tục đi lanjut iya oke ya silakan teruskan
    نعم اجل أكمل استمر تابع حسنا تمام हाँ हां ठीक है जारी रखो करो आगे बढ़ो"""
)
_WHOLE = word_set(
    """
    好 好的 好吧 是 是的 对 對 嗯 行 可以 可以的 继续 繼續 请继续 請繼續 继续吧 没问题 同意 ok的
    开始 开始吧 好继续 好的继续 はい うん お願いします おねがいします 続けて 続けてください
    進めて 進めてください いいよ いいです オッケー 了解 大丈夫です 네 넵 예 응 좋아 좋아요 계속
    계속해 계속해줘 계속하세요 진행해 진행해줘 진행하세요 그래 ㅇㅇ 알겠어 ใช่ ต่อ ต่อเลย โอเค
    """
)
_ON = word_set(
    """continue proceed resume next weiter weitermachen continuez continua continúa continue continuar sigue prossiga
    prossegue vai procedi avanti verder doorgaan dalej kontynuuj продолжай дальше далее продовжуй далі devam pokračuj
    fortsätt fortsett fortsæt jatka folytasd συνέχισε המשך teruskan lanjut استمر أكمل تابع"""
)
_ON_PHRASES = (
    ("go", "on"),
    ("go", "ahead"),
    ("keep", "going"),
    ("carry", "on"),
    ("mach", "weiter"),
    ("fahre", "fort"),
    ("vas", "y"),
    ("tiếp", "tục"),
    ("आगे", "बढ़ो"),
)
_ON_CHARACTERS = ("继续", "繼續", "続けて", "進めて", "계속", "진행해", "ต่อ")
_MORE = 1  # words of its own that such a message may have: a name, a number of a turn


def goes_on(text: str) -> bool:
    """Return whether a typed message only says to go on with what was asked before: "Bob, go on.", "continue".

    Such a message may have a word that is nobody's confirmation; "yes" confirms, but it does not say to go on.
    """
    plain = text.strip().casefold()
    if len(plain) > _LONGEST or "?" in plain:
        return False
    words = [word for word in _SPLIT.split(plain) if word]
    pairs = list(pairwise(words))
    if len(words) == 1 and any(mark in plain for mark in _ON_CHARACTERS):
        return is_bare(text)
    on = {word for pair in pairs if pair in _ON_PHRASES for word in pair}
    on |= {word for word in words if word in _ON}
    other = [word for word in words if word not in on and not is_bare(word)]
    if not on or len(words) > 6 or len(other) > _MORE:
        return False
    # "continue refactoring" names what; in "turn3, go on" the word stands in front
    return not other or words[0] == other[0]


def is_bare(text: str) -> bool:
    """Return whether a typed message says nothing of its own: "yes", "go on", "1", "好的"."""
    plain = text.strip().casefold()
    if len(plain) > _LONGEST or "?" in plain:
        return False
    words = [word for word in _SPLIT.split(plain) if word]
    if not words or "".join(words) in _WHOLE:
        return True
    if len(words) > 6:
        return False
    return all(
        word in _WORDS
        or word in _WHOLE
        or (len(word) <= 2 and (word.isdigit() or (word.isascii() and len(word) == 1)))
        for word in words
    )
