"""Words that only say yes or go on, in many languages: they mean what the assistant proposed before them."""

from __future__ import annotations

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
