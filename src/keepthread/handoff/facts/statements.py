"""Plain statements among short typed messages: "All money is in cents." binds without a word of binding.

What is looked for is the form: a statement says how something is, or names a measure and where it holds. Asks begin
with a verb, complaints speak of what fails, news of what was done; none of these is a statement.
"""

from __future__ import annotations

from keepthread.handoff.facts.confirmations import is_bare
from keepthread.handoff.facts.rule_words import is_question
from keepthread.handoff.facts.text import lazy, word_set

_SHORTEST = 6
_ASKING = word_set(
    """spawn add adjust allow analyse analyze apply ask assume attach audit begin bring build bump call cancel change
    check clean clear clone close commit compare compile complete configure continue convert copy correct create
    cut debug delete deploy describe design detect disable do document download draft drop dump edit enable
    ensure evaluate examine execute expand explain explore export extend extract fetch figure fill filter find
    finish fix focus follow format generate get give go grep group handle have help hide identify implement
    import improve include increase inline insert inspect install integrate investigate join keep kill launch
    lay leave let lets list load locate log look lower make mark measure merge migrate mock modify move need
    open optimise optimize order output parse pass paste patch pick pin plan polish port prepare print proceed
    profile provide publish pull push put read rebase rebuild recheck redo reduce refactor refresh regenerate
    release reload remove rename reopen reorder replace report reproduce research reset resolve restart restore
    restructure resume rerun retry return revert review rewrite rollback run save scan search see send separate
    set setup ship show simplify skip sort split squash start stop submit suggest summarise summarize support
    swap switch sync tell test tidy toggle trace track translate trigger trim try turn uninstall undo unify
    update upgrade upload use validate verify wait want watch wire work wrap write"""
)
_LEADS = word_set(
    """please now then also next and ok okay so but first finally after before once when while if since because
    again maybe perhaps just could would can should will how why what where who yes no hi hello hey thanks thank
    sorry hmm oh lets let's same still back"""
)
_PRONOUNS = word_set(
    """i i'm i've i'd i'll im it it's its this that these those there there's here here's you you're you've he she
    they they're"""
)
_LINKING = word_set(
    """that which who whom if when what how where why whether because the a an this these those my your our its
    their it them me us all any so and to from for in on at with into of"""
)
# Verbs that say how things are kept. Simple present: what was done is news.
_STATES = word_set(
    """is are stay stays remain remains live lives go goes belong belongs answer answers use uses follow follows
    start starts end ends have has come comes carry carries return returns run runs target targets support
    supports sit sits get gets take takes need needs count counts hold holds speak speaks read reads means mean
    equals default defaults apply applies expect expects require requires contain contains begin begins stands
    stand"""
)
_FAILS = lazy(
    r"\b(?:errors?|fail\w*|broken?|breaks?|wrong|crash\w*|slow\w*|missing|bugs?|buggy|empty|still|now|again|already|yet|weird"
    r"|strange|odd|bad|ugly|stuck|hangs?|hanging|red|green|gone|lost|undefined|nan|done|ready|finished|fixed|merged|deployed"
    r"|pushed|been|tomorrow|today|yesterday|currently|almost|sure|fine|good|great|nice|perfect|correct|right|better|worse|happy"
    r"|sorry|unclear|confus\w+|not|n[o’']t|\w+n[’']t|cannot|never|seems?|looks?|feels?|unable|too|flaky|down|leak\w*|timeouts?"
    r"|timed|duplicate[sd]?|unused|outdated|stale|useful|interesting|really|very)\b"
    r"|\b(?:kaputt|fehl\w+|falsch|geht|fertig|immer\s+noch|wieder|hängt|langsam|schlecht|leer|rot|komisch|gut|schon|jetzt|nicht"
    r"|erreurs?|échou\w+|cassé\w*|faux|manqu\w+|vides?|lent\w*|bizarre\w*|encore|déjà|fini\w*|pas|bien|prêt\w*"
    r"|fall[ao]\w*|rot[oa]s?|mal|vací[oa]s?|falta\w*|todavía|listo|lista|bien|erro|erros|quebrad\w+|vazi[oa]|pront[oa]"
    r"|errore|rott[oi]|vuot[oi]|manca\w*|ancora|fout\w*|kapot|mist|klaar|goed|traag|leeg|niet|błąd\w*|zepsut\w*|gotow\w*)\b"
    r"|ошибк|сломан|падает|пуст|готов|опять|всё\s+ещё|хорош|плох|помилк|зламан|hata|bozuk|错误|錯誤|报错|失败|失敗|问题|坏|完成|エラー"
    r"|失敗|壊れ|おかし|遅い|できました|오류|에러|실패|깨졌|느려|완료",
)
_MEASURE = lazy(
    r"\d|:\s*\S|\bon\s+(?:all|every|each|any)\b|\b(?:in|for|per)\s+(?:all|every|each|any|the\s+\w+|\w+s)\b|\b(?:max|min|maximum|minimum|everywhere|throughout"
    r"|only|required|mandatory|optional|first)\b",
)
_NUMBERED = lazy(
    r"^\W*(?:step|option|issue|pr|phase|part|task|ticket|bug|number|point|item|question|case|case|line|commit)\s*#?\d"
)
_WE = lazy(
    r"^\W*we(?:[’']re|\s+(?:are\s+(?:on|in|using)|use|have|target|support|deploy|follow|write|name|call|keep|log|store|test|run"
    r"|ship|prefer|work|speak|stick|pin|own|share|sort|count|measure|review|squash|rebase))\b"
)
_WORD = lazy(r"[^\W_](?:[\w.+#/’'-]*\w)?")
_OTHER_STATES = lazy(
    r"\b(?:ist|sind|bleib(?:t|en)|lieg(?:t|en)|heiß(?:t|en)|gilt|gelten|steh(?:t|en)|gehör(?:t|en)|kommt|kommen|mindestens"
    r"|höchstens|maximal"
    r"|est|sont|rest(?:e|ent)|vont|s[’']écri(?:t|vent)|se\s+trouvent|maximum|minimum"
    r"|es|son|est[áa]n?|van|viven|é|são|ficam?|sono|è|vanno|restano|stanno|mínimo|máximo|minimo|massimo"
    r"|zijn|blijft|blijven|staa[nt]|heten|heet|jest|są|znajdują)\b"
    r"|^\W*(?:alle[srn]?|jede[rs]?|tou(?:s|tes)|chaque|tod[oa]s|cada|tutt[ei]|ogni|elke?|wszystkie|każd[yae]|вс[её]|кажд\w+"
    r"|усі|всі|кожн\w+|tüm|bütün|her|tất\s+cả|semua|setiap|alla|kaikki)\b"
    r"|所有|全部|一律|都[用是为在以]|[一-鿿](?:使用|采用|用|为|是|以)[^?？]+|統一|统一"
    r"|すべて|全て|(?:です|である|とする|とします|にする|にします|で書く)。?\s*$|모든|(?:입니다|이다|한다|합니다|으로)\.?\s*$"
    r"|كل\s|جميع|सभी|हर\s|όλ[αεο]|כל\s|ทุก|ทั้งหมด",
)


def is_statement(sentence: str, *, english: bool) -> bool:
    """Return whether a short typed sentence states how something is kept: no question, ask, complaint or news."""
    bare = sentence.strip()
    if len(bare) < _SHORTEST and bare.isascii():
        return False
    if is_question(bare) or is_bare(bare) or bare.startswith("/"):
        return False
    lower = bare.casefold()
    if _FAILS.search(lower) or _NUMBERED.match(lower):
        return False
    words = _WORD.findall(lower)
    if _is_english_form(words, lower):
        return True
    foreign = not (bare.isascii() and english)
    return foreign and _asks_nothing(words) and bool(_OTHER_STATES.search(lower))


def begins_as_ask(clause: str) -> bool:
    """Return whether a clause begins with a verb that asks for something to be done, in English."""
    first = _WORD.search(clause.casefold())
    return first is not None and first.group() in _ASKING


def _is_english_form(words: list[str], lower: str) -> bool:
    if len(words) < 2 or words[0] in _PRONOUNS or words[0] in _LEADS:
        return False
    if words[0] in ("we", "we're"):
        return bool(_WE.match(lower))
    states = next((at for at, word in enumerate(words) if at and word in _STATES), 0)
    if words[0] in _ASKING:  # "commit messages are in English" begins with a noun all the same
        return 2 <= states <= 3 and not _LINKING.intersection(words[1:states])
    if states:
        return True
    return bool(_MEASURE.search(lower))


def _asks_nothing(words: list[str]) -> bool:
    return not words or not (words[0] in _ASKING or words[0] in _LEADS or words[0] in _PRONOUNS)
