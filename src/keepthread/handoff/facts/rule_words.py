"""The words by which people bind future work, by language. Only their presence is judged, never their meaning."""

from __future__ import annotations

import re
from functools import lru_cache

from keepthread.handoff.facts.text import lazy, word_set

_WORDS = lazy(r"[a-z]+(?:'t)?")
_ENGLISH_WORDS = word_set(
    "the and to this that with it you are when not don't use always never only please"
)
# English too, and words of other languages: one of them is no sign, nor are two.
_SHARED_WORDS = word_set("is for in of on be do")
# In each alternative of the pattern below stands one of these.
_DENYING = ("n't", "n’t", "dont", "no", "never", "always", "must", "only")

# What looks like an order and is none: "I don't know", "it doesn't work".
_NOT_ORDERS = lazy(
    r"\bi\s+(?:don[’']?t|do\s+not|never|always)\s+(?:know|think|see|understand|believe|remember|get|recall|have"
    r"|need|mind|care|saw|got|had|said|meant|told|asked|wanted|tried|used)\b"
    r"|\b(?:it|they|we|you|he|she|these|those|tests?|which|that|still|but)\s+(?:don[’']?t|do\s+not|never|always"
    r"|must)\s+(?:work|works|exist|match|show|appear|seem|look|pass|compile|load|render|have|fail|fails|be|happen"
    r"|happens|see|get)\b"
    r"|\b(?:was|were|is|are|been|has|have|had|got|gets)\s+(?:never|always|not\s+allowed)\b|\bnever\s+(?:\w+ed"
    r"|worked|ran|seen|been|got)\b"
    r"|\b(?:why|how|what|whether|if)\s+\w+\s+(?:don[’']?t|do\s+not)\b|\bdon[’']?t\s+(?:work|exist|match|seem|appear"
    r"|worry|know|understand)\b|\bmust\s+have\s+(?:been|crashed|failed|broken|gone|happened|missed|forgotten"
    r"|changed|lost|died|hung)\b"
    r"|\bnot\s+only\b|\bor\s+not\b|\bif\s+not\b|\bonly\s+(?:one|two|\d+|the\s+first|when\s+i)\b|\bnever\s?mind\b"
    r"|\b(?:never|always)\s+(?:fails?|breaks|crashes|hangs|forgets|works)\b|(?:,|^|\bit)\s*must\s+be\s+(?:the|my"
    r"|your|because|due|something|some)\b"
    r"|^\W*(?:(?:thanks|ok|okay|sorry|yes|well)[,\s]+)?no\s+(?:more\s+)?(?:ideas?|problems?|worries|rush|hurry"
    r"|errors?|changes?|luck|clue|doubts?|way|thanks|questions?"
    r"|tests?\s+(?:found|ran|yet)|such|module\s+named|matching|results?|difference|effect|answer|response)\b(?!\s+to\b)",
    re.IGNORECASE,
)
_ENGLISH = lazy(
    r"""\b(?:never|always|from\s+now\s+on|going\s+forward|from\s+here\s+on|in\s+(?:the\s+)?future,
    |remember\s+(?:to|that|not)|keep\s+in\s+mind
    |make\s+sure|be\s+sure\s+to|ensure|must(?:n[’']t)?|do\s+not|don[’']?t|no\s+more|avoid|refrain|stop\s+\w+ing|quit\s+\w+ing
    |under\s+no\s+circumstances|at\s+all\s+times|every\s+time|each\s+time|without\s+(?:asking|my\s+\w+)|unless\s+i
    |ask\s+(?:me\s+)?(?:first|before)|let\s+me\s+(?:review|approve|check|see|confirm|read|sign)\b.{1,80}\b(?:before|first)|before\s+(?:you\s+)?(?:commit|push|delet|merg|deploy|releas)\w*
    |shouldn[’']t|should\s+(?:never|always|not|only)|may\s+not|not\s+allowed|forbidden|mandatory|strictly|exclusively
    |only\s+(?:use|edit|touch|change|modify|run|write|work|commit|add)|just\s+use|leave\s+.{1,60}\s+(?:alone|as\s+is|untouched|unchanged)
    |keep\s+.{1,60}(?:as\s+is|untouched|unchanged|in\s+sync|compatible)|hands\s+off|off[\s-]limits|stick\s+(?:to|with)
    |no\s+(?:emojis?|mocks?|comments?|new\s+\w+|extra\s+\w+|hacks?|placeholders?|todos?|force[\s-]push\w*|dependencies|changes\s+to|inline|any\b|default)
    |use\s+\S+(?:\s+\S+){0,3},?\s+(?:not|over|instead|rather)\b|as\s+a\s+rule|no\s+\w+\s+allowed|i\s+(?:don[’']?t|do\s+not)\s+want)""",
    re.IGNORECASE | re.VERBOSE,
)
# Said of one piece of work as often as of all: a rule in a short message, not in a long one.
_ENGLISH_MILD = lazy(
    r"""\b(?:instead(?:\s+of)?|rather\s+than|prefer(?:ably)?|i[’']d\s+(?:rather|prefer)|remember|whenever
    |no\s+longer|no\s+need\s+to|not\s+\w+\s+but
    |without\s+(?:changing|touching|breaking|using|adding)|until\s+i|before\s+(?:you\s+)?(?:edit|chang|mak|start|propos|provid)\w*
    |can(?:not|[’']t)\s+(?:use|change|touch|edit|modify|break)|need\s+to\s+(?:always|never)|i\s+(?:want|need|expect)\s+(?:you|all|every|the|it)|i\s+(?:don[’']?t|do\s+not)\s+like
    |only\s+(?:for|in|after|if|when|with|the|on)|keep\s+.{1,60}(?:simple|short|minimal)|keep\s+it|follow\s+(?:the|our|my|these|this)|by\s+default|better\s+not\s+to|at\s+most|at\s+least|treat\s+.{1,40}\s+as|required|critical|crucial)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ENGLISH_WEAK = lazy(
    r"^\W*(?:please\s+|and\s+|also\s+)?(?:use(?!\s+(?:this|that|it|your|the\s+(?:other|same|new|first|second|last|latest)|opus|sonnet|haiku)\b)"
    r"|keep(?!\s+(?:going|working|trying|on|it\s+up)\b)|answer\s+in|respond\s+in|reply\s+in|write\s+(?:in|all|every)"
    r"|speak|stay|follow(?!\s+up\b)|we\s+(?:use|only|never|always)|no\s+\w+)\b",
    re.IGNORECASE,
)

_OTHER_NOT_ORDERS = (
    r"(?:geht|funktioniert|klappt|weiß|weiss|verstehe|ist|war|wird|habe|hat|kann|bin|sind|passiert|stimmt|sehe"
    r"|läuft)\s+(?:\w+\s+)?nicht\b"
    r"|\bimmer\s+(?:noch|wieder)(?:\s+nicht)?\b|\bnie\s+(?:gesagt|gesehen|funktioniert|gewollt|gemeint"
    r"|verstanden)\b|\bes\s+gibt\s+(?:\w+\s+)?kein\w*"
    r"|\b(?:ich|wir)\s+(?:habe|haben|sehe|sehen|finde|bekomme|brauche)\s+(?:\w+\s+)?kein\w*|\bkeine?\s+(?:ahnung"
    r"|idee|sorge|eile|frage|fragen|problem\w*|fehler|änderung\w*)\b"
    r"|\bpas\s+de\s+(?:souci|problème|changement|réponse|nouvelles)\w*|\bil\s+n[’']y\s+a\s+(?:pas|plus)\b"
    r"|n[e’']\s*(?:marche|fonctionne|sais|comprends?|est|a|passe|vois|peux|va|sont|suis)\s+(?:\w+\s+)?(?:pas|plus"
    r"|jamais)"
    r"|\bno\s+(?:funciona|sé|entiendo|es|está|hay|tengo|veo|puedo|pasa|sirve)\b|\bnão\s+(?:funciona|sei|entendo|é"
    r"|está|há|tenho|vejo|consigo|passa)\b"
    r"|\bnon\s+(?:funziona|so|capisco|è|va|c[’']è|ho|vedo|riesco)\b|\bnie\s+(?:działa|wiem|rozumiem|jest|ma|widzę"
    r"|mogę)\b"
    r"|\bне\s+(?:работает|знаю|понимаю|вижу|могу|получается|помогло|працює|розумію|бачу|можу)\b|çalışmıyor"
    r"|bilmiyorum|olmuyor"
)
_LATIN = "|".join(
    (
        # German
        r"\b(?:nie(?:mals)?|immer|nicht|kein(?:e|en|er|es)?|ab\s+(?:jetzt|sofort)|in\s+zukunft|künftig"
        r"|statt(?:dessen)?|anstatt|anstelle|nur(?:\s+noch)?|muss(?:t)?|müssen|darf(?:st)?|soll(?:st)?\s+nicht"
        r"|merk(?:e)?\s+dir|denk(?:e)?\s+(?:daran|dran)|achte|stell(?:e)?\s+sicher|vermeide|verzichte|hör\s+auf"
        r"|frag(?:e|t)?\s+(?:mich|uns)\s+(?:vorher|zuerst|erst)|finger\s+weg|verwende|benutze|nutze|grundsätzlich"
        r"|jedes\s+mal|ausschließlich|lieber|unbedingt|zwingend)\b",
        # French
        r"\b(?:jamais|toujours|désormais|dorénavant|à\s+partir\s+de\s+maintenant|à\s+l[’']avenir|faut|doi[st]"
        r"|doivent|évite[zr]?|arrête[zr]?|cesse[zr]?|plutôt|au\s+lieu\s+de|préfère[zr]?|uniquement|seulement"
        r"|souviens-toi|rappelle-toi|n[’']oublie[zr]?|assure[-\s]|assurez|veille[zr]?|utilise[zr]?|interdit"
        r"|interdiction|(?:tels?|telles?)\s+quel\w*|demande[rz]?(?:-(?:moi|nous))?\s+(?:d[’']abord|avant))\b"
        r"|\bn(?:e\s+|[’'])\w+\s+(?:pas|plus|rien)\b|\bne\s+pas\b|\bpas\s+de\b",
        # Spanish
        r"\b(?:nunca|jamás|siempre|de\s+ahora\s+en\s+adelante|a\s+partir\s+de\s+ahora|en\s+el\s+futuro|debes?|deben"
        r"|tienes\s+que|hay\s+que|evita[r]?|deja\s+de|en\s+(?:vez|lugar)\s+de|prefiero|prefiere|solo|sólo|solamente"
        r"|únicamente|recuerda|asegúrate|utiliza|usa|prohibido|no\s+\w+(?:es|as|is|ar|er|ir))\b",
        # Portuguese
        r"\b(?:jamais|sempre|a\s+partir\s+de\s+agora|daqui\s+(?:em|para)\s+\w+|de\s+agora\s+em\s+diante|deve(?:m)?"
        r"|tem\s+que|precisa|evite|pare\s+de|em\s+vez\s+de|ao\s+invés\s+de|prefiro|prefira|somente|apenas|lembre"
        r"|certifique|utilize|proibido|não\s+\w+)\b",
        # Italian
        r"\b(?:mai|sempre|d[’']ora\s+in\s+poi|da\s+ora\s+in\s+poi|in\s+futuro|devi|devono|bisogna|evita|smetti"
        r"|invece\s+di|al\s+posto\s+di|piuttosto|preferisco|preferisci|soltanto|solamente|ricorda(?:ti)?|assicurati"
        r"|utilizza|vietato|non\s+\w+)\b",
        # Dutch
        r"\b(?:nooit|altijd|niet|geen|vanaf\s+nu|voortaan|in\s+de\s+toekomst|moet(?:en)?|mag|mogen|vermijd"
        r"|stop\s+met|in\s+plaats\s+van|liever|alleen|onthoud|zorg|let\s+op|gebruik|verboden)\b",
        # Polish
        r"\b(?:nigdy|zawsze|nie|od\s+teraz|w\s+przyszłości|musi(?:sz|my)?|należy|unikaj|przestań|zamiast|wolę"
        r"|preferuj|tylko|wyłącznie|pamiętaj|upewnij|używaj|użyj|zabronione)\b",
        # Turkish
        r"\b(?:asla|hiçbir\s+zaman|her\s+zaman|daima|bundan\s+sonra|artık|yerine|tercih|sadece|yalnızca|unutma"
        r"|emin\s+ol|kullan|kaçın|yasak|dikkat\s+et|gerek(?:li|iyor)?|lazım|zorunda\w*|\w{2,}(?:malı|meli)\w*)\b"
        # The ending of many other languages' words too: only beside a letter that is Turkish alone.
        r"|\b(?:kullan|sil|ekle|değiştir|yap|dokun|yaz|çalıştır)(?:ma|me)\b"
        r"|^(?=.*(?-i:[ışğİ])).*\w{3,}(?:ma|me)(?:yın|yin|yınız|yiniz)?\s*[.!]*$",
        # Swedish, Danish, Norwegian, Finnish, Czech, Romanian, Hungarian, Vietnamese, Indonesian
        r"\b(?:aldrig|aldri|alltid|altid|inte|ikke|i\s+stället|i\s+stedet|från\s+och\s+med\s+nu|fra\s+nå\s+av|måste"
        r"|endast|älä|aina|koskaan|ei\s+saa|nikdy|vždy|místo|pouze|musí|niciodată|întotdeauna|mereu|nu\s+\w+|doar"
        r"|trebuie|în\s+loc|soha|mindig|helyett|đừng|luôn|không\s+được|phải|thay\s+vì|từ\s+giờ|jangan|selalu|harus"
        r"|hanya|mulai\s+sekarang|hindari|alih-alih|tidak\s+boleh)\b",
    )
)
_OTHER = "|".join(
    (
        # Russian
        r"никогда|всегда|\bне\s+\w+|с\s+этого\s+момента|отныне|впредь|в\s+будущем|\bдолжн\w+|\bнужно\b|\bнадо\b"
        r"|нельзя|избега\w+|перестань|прекрати|хватит|вместо|предпочита\w+|\bлучше\b|\bтолько\b|запомни|\bпомни\b"
        r"|убедись|используй\w*|запрещ\w+|обязательно|больше\s+не",
        # Ukrainian
        r"ніколи|завжди|відтепер|надалі|\bповин\w+|\bтреба\b|потрібно|не\s+можна|уника\w+|припини|замість|краще"
        r"|\bтільки\b|\bлише\b|пам[’']ятай|запам[’']ятай|переконайся|використовуй\w*|заборонено|обов[’']язково"
        r"|більше\s+не",
        # Chinese
        r"不要|不准|不能|不得|不允许|不許|不用|禁止|禁用|切勿|请勿|請勿|[别別](?!人|的|名|处|處)|永远|永遠|始终|始終|总是|總是|一定要?|必须|必須|务必|務必|以后|以後|今后|今後"
        r"|从现在(?:开始|起)|從現在|记住|記住|记得|記得|确保|確保|避免|只(?:能|用|要|改|允许|允許|许)|而不是|改用|先(?:问|問|征求|确认|確認)|优先|優先|尽量|盡量|统一|統一|一律"
        r"|停止|无需|無需|应该|應該|要求",
        # Japanese
        r"しないで|ないで(?:ください|下さい|くれ)?|しない(?:こと|ように)|ないこと|禁止|必ず|絶対|常に|いつも|決して|今後|これから(?:は|も)|べき|ではなく|じゃなくて|代わりに|だけ(?:に"
        r"|を|で)|のみ|てはいけ|ちゃだめ|覚えて|忘れ(?:ないで|ず)|避けて|やめて|を使って|使用して|なければ|ようにして|優先|厳禁|先に(?:聞|確認)|事前に|[うくぐすつぬむるぶ]な(?:よ"
        r"|ね)?[。！!]*\s*$",
        # Korean
        r"하지\s*마|하지\s*말|지\s*마(?:세요|라)?|말고|말\s*것|금지|반드시|\b꼭|항상|절대|언제나|앞으로|이제부터|지금부터|해야|대신|만\s*(?:사용|수정|써|변경)|기억|잊지"
        r"|피해|그만|써\s*줘|사용해|사용하지",
        # Arabic, Persian
        r"\bلا\s+\w+|أبد[اً]+|دائم[اً]+|من\s+الآن|مستقبل|\bيجب\b|لا\s+بد|تجنب|توقف|بدل[اً]+|\bفقط\b|تذكر|تأكد"
        r"|استخدم|ممنوع|هرگز|همیشه|نباید|\bباید\b|به\s+جای",
        # Hindi
        r"कभी|\bमत\b|हमेशा|अब\s+से|आगे\s+से|चाहिए|ज़रूर|जरूर|बजाय|केवल|सिर्फ़?|याद\s+रख|ध्यान\s+(?:रख|दे|से)"
        r"|सुनिश्चित|नहीं\s+कर",
        # Greek, Hebrew, Thai
        r"ποτέ|πάντα|\bμην?\b|\bμόνο\b|πρέπει|\bαντί\b|אף\s+פעם|לעולם|תמיד|אל\s+ת|\bרק\b|חייב|במקום|อย่า|ห้าม|เสมอ"
        r"|ต้อง|เท่านั้น|แทน",
    )
)
_CORRECTION = lazy(
    r"^\W*(?:no|nope|wrong|stop|wait|not\s+(?:that|like)|nein|falsch|halt|non|arrête|para|não|alto|sbagliato|nee"
    r"|fout|nie|źle|нет|стоп|неверно|ні|hayır|dur|不对|不對|不是|不要|错了|錯了|停|いや|いいえ|違う|ちがう|だめ|やめて|아니|틀렸|안\s*돼|لا|नहीं"
    r"|मत)(?![\w-])",
    re.IGNORECASE,
)
_QUESTION = lazy(
    r"[?？؟]\W*$|(?:吗|嗎|呢|ですか|ますか|でしょうか|のか|까요?|나요|니)\W*$|^\W*(?:为什么|為什麼|怎么|怎麼|如何|是否|能不能|可不可以|なぜ|どうして|なんで|왜\s)"
    r"|^\W*i\s+wonder\b|^\W*(?:why|how|what|where|when|which|who|is\s+(?:it|there|this)|are\s+(?:there|we|you)|did"
    r"|does|do\s+(?:you|we|i)\b(?!\s*not)|can\s+(?:you|we|i)|could\s+(?:you|we)|should\s+(?:we|i)|warum|wieso|wie"
    r"|pourquoi|comment|por\s?qué|cómo|por\s+que|perché|waarom|dlaczego|почему|зачем|чому|neden|niye)\b",
    re.IGNORECASE,
)
_QUOTING = lazy(r"[\"“«„「『`]|['‘]|\berror:", re.IGNORECASE)
_QUOTED = lazy(
    r"\"[^\"\n]{2,}\"|“[^”\n]{2,}”|«[^»\n]{2,}»|„[^“”\n]{2,}[“”]|「[^」\n]{2,}」|『[^』\n]{2,}』|`[^`\n]{2,}`"
    r"|(?<![\w])['‘][^'’\n]{2,}['’](?![\w])"
)
_ERROR = lazy(r"\berror:\s.*$", re.IGNORECASE)
_TOLD = lazy(r"[^\W_]{2}")
_EMPHATIC = lazy(r"\b(?:never|always|from\s+now\s+on|do\s+not|don[’']?t|must)\b", re.IGNORECASE)


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a list of words when it is first needed: most sessions speak one language, and hooks start often."""
    return re.compile(pattern, re.IGNORECASE)


def is_english(text: str) -> bool:
    """Return whether a text reads as English: words of other languages are then not looked for in it."""
    if not text.isascii():
        return False
    words = set(_WORDS.findall(text.lower()))
    certain = len(words & _ENGLISH_WORDS)
    return certain > 0 and certain + len(words & _SHARED_WORDS) >= 2


def strength(sentence: str, *, english: bool) -> int:
    """Return how strongly a sentence binds future work: 3 plainly, 2 perhaps, 1 weakly, 0 not.

    What it quotes does not count: the words of a message on the screen, or of somebody else.
    """
    if is_question(sentence):
        return 0
    sentence = _unquoted(sentence)
    lower = sentence.lower()
    denies = any(word in lower for word in _DENYING)
    bare = _NOT_ORDERS.sub(" ", sentence) if denies else sentence
    if _ENGLISH.search(bare):
        return 3
    if not english:
        bare = _compiled(_OTHER_NOT_ORDERS).sub(" ", bare)
        if _compiled(_LATIN).search(bare) or (
            not sentence.isascii() and _compiled(_OTHER).search(bare)
        ):
            return 3
    if _ENGLISH_MILD.search(bare):
        return 2
    return 1 if _ENGLISH_WEAK.search(bare) else 0


def _unquoted(sentence: str) -> str:
    """Return the sentence without what an "error:" says and without its quotations, unless nothing but them is said."""
    if not _QUOTING.search(sentence):
        return sentence
    sentence = _ERROR.sub(" ", sentence)
    bare = _QUOTED.sub(" ", sentence)
    return bare if _TOLD.search(bare) else sentence


def is_correction(message: str) -> bool:
    """Return whether a message begins by saying no."""
    return bool(_CORRECTION.match(_NOT_ORDERS.sub(" ", message)))


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks; "can you please never ...?" orders."""
    return bool(_QUESTION.search(sentence)) and not (
        _EMPHATIC.search(sentence)
        and re.match(r"\W*(?:can|could|would|will)\s+you\b", sentence, re.IGNORECASE)
    )


def is_unknown_script(text: str) -> bool:
    """Return whether a text is written in letters for which there are no word lists here."""
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and sum(_known(character) for character in letters) < len(letters) / 2


def _known(character: str) -> bool:
    code = ord(character)
    return (
        code < 0x600  # Latin, Greek, Cyrillic, Hebrew
        or 0x600 <= code < 0x780
        or 0x900 <= code < 0x980
        or 0xE00 <= code < 0xE80
        or 0x1E00 <= code < 0x2000
        or 0x3040 <= code < 0xA000
        or 0xAC00 <= code < 0xD7B0
    )
