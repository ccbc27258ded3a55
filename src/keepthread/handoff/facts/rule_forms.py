"""Rules said in so few words that none of them binds by itself: "tabs, not spaces", "auf Deutsch", "pas d'emojis".

What tells them is their form, so they count for one short sentence only, never for a passage of a long message.
"""

from __future__ import annotations

import re

from keepthread.handoff.facts.text import lazy

_LONGEST = 80
_LEAD = r"^\W*(?:(?:and|also|please|ok|okay|but|und|bitte|aber|et|mais|y|pero|por\s+favor|e|ma|mas|i|и|а)[,\s]+){0,2}"
_LANGUAGE = lazy(
    r"\bin\s+(?:(?:plain|simple|british|american)\s+)?(?:english|german|french|spanish|portuguese|italian|dutch"
    r"|polish|turkish|russian"
    r"|ukrainian|swedish|danish|norwegian|finnish|czech|greek|hebrew|arabic|hindi|japanese|chinese|korean"
    r"|vietnamese|thai)\b"
    r"|\bauf\s+(?:deutsch|englisch|französisch|spanisch|italienisch|russisch|japanisch|chinesisch|polnisch|türkisch)\b"
    r"|\ben\s+(?:français|anglais|allemand|espagnol|italien|español|inglés|alemán|francés|castellano)\b"
    r"|\bem\s+(?:português|inglês|espanhol|alemão)\b|\bin\s+(?:italiano|inglese|tedesco|francese)\b"
    r"|\bin\s+het\s+(?:nederlands|engels|duits|frans)\b|\bpo\s+(?:polsku|angielsku|niemiecku|česku|slovensky)\b"
    r"|\bpå\s+(?:svenska|engelska|norsk|dansk|engelsk)\b|\b(?:suomeksi|englanniksi|česky|magyarul|angolul)\b"
    r"|по-(?:русски|английски|немецки)|на\s+(?:русском|английском|немецком)\b|\b(?:українською|англійською)\b"
    r"|\b(?:türkçe|ingilizce)\b"
    r"|(?:日本語|英語|中国語|韓国語|ドイツ語)(?:で|に(?:して|統一))|(?:用|使用|以)(?:中文|英文|英语|英語|日语|日文|汉语|简体中文|繁體中文|德语|法语)"
    r"|(?:한국어|영어|일본어|한글)로",
    re.IGNORECASE,
)
_SPEAKS = lazy(
    r"\b(?:answer|respond|reply|speak|talk|antwort\w*|schreib\w*|sprich|sprech\w*|rede|répond\w*|parle\w*|écri\w*"
    r"|respond\w*|contest\w*"
    r"|habla\w*|escrib\w*|escrev\w*|fal[ae]\w*|rispond\w*|scriv\w*|antwoord\w*|schrijf|odpowiada\w*|pisz|mów"
    r"|cevap\w*|yanıt\w*|svar\w*"
    r"|skriv\w*|write\s+(?:all|every|everything|to\s+me|commit\w*|comments?|docs?|documentation))\b"
    r"|отвеча\w*|пиши|говори|відповіда\w*|答え|回答|話し|話して|返信|返事|回复|回覆|答复|说话|대답|답(?:해|변|하)|말해",
    re.IGNORECASE,
)
_TRANSLATES = lazy(
    r"translat|übersetz|tradu|vertaal|tłumacz|перев[её]д|переклад|翻译|翻譯|翻訳|訳して|번역|çevir"
    r"|\b(?:is|are|was|were|ist|sind|war|est|sont|es|está|è)\s+(?:in|auf|en)\s",
    re.IGNORECASE,
)
_NOTHING = (
    r"(?:problem\w*|problèm\w*|souci|id[eé]e?[ans]?|ahnung|sorgen?|zweifel|fehler\w*|erreurs?|err?or(?:s|es|e|i)?"
    r"|changes?|changements?"
    r"|cambios|doutes?|dudas?|dúvidas?|dubbi\w*|twijfel|fouten|wijzigingen|result\w*|résultats?|ergebnis\w*"
    r"|unterschied\w*|wirkung|erfolg"
    r"|éxito|success|effe[ck]t\w*|efecto|antwort|réponse|respuesta|risposta|antwoord|eile|prisa|pressa|fretta|haast"
    r"|gracias"
    r"|проблем\w*|понятия|сомнени\w+|ошибок|изменени\w+|błęd\w+|problemu|问题|變化|变化|反应|效果|luck|clue|doubt|rush|hurry)\b"
)
_WITHOUT = lazy(
    _LEAD
    + r"(?!.*\b(?:works?|starts?|runs?|fails?|geht|läuft|klappt|funktioniert|plante|marche|fonctionne|falla|funciona"
    r"|funziona|werkt|działa|работает|падает|gefunden)\b)(?:(?:(?:without(?!.*\b(?:it|this|they)\b)|ohne|kein(?:e[nrms]?)?|sans|pas\s+de"
    r"|aucune?|sin|nada\s+de|ningun[oa]?s?|sem|nenhum\w*"
    r"|senza|niente|nessun[oa]?"
    r"|zonder|geen|bez|żadn\w+|без|никаких|ніяких|жодн\w+|utan|inga|ingen|uten|uden|ilman|fără|tanpa|không\s+dùng"
    r"|不带|不帶)\s*"
    r"|(?:pas|plus)\s+d[’'])(?!\s*" + _NOTHING + r")\w.*"
    r"|(?!.*(?:問題|エラー|異常|変更|変化|出力|結果|反応|効果)\s*(?:なし|無し)).*\w\s*(?:なし|無し|ナシ|抜き)(?:で|でお願いします|にして)?\W*|.*\w\s*(?:없이|빼고)\W*|.*\w\s+(?:yok|olmasın|istemiyorum)\W*)$",
    re.IGNORECASE | re.DOTALL,
)
# "file not found" has the form too.
_NOT = lazy(
    _LEAD
    + r"(?!(?:it|this|that|they|why|if|or|is|are|was|were|does|do|did|has|have|can|could|will|would|should|i|you|we"
    r"|he|she|still|maybe"
    r"|probably|just|definitely|so|because|when|while|what|there|yes|no|its"
    r"|it[’']s)\b)[\w./+#@-]+(?:\s+[\w./+#@-]+)?,?\s+not\s+"
    r"(?!(?:\w+ing|\w+ed|\w+[ai]ble|found|shown|done|set|sent|seen|run|ready|there|here|right|good|great|nice|ok"
    r"|okay|fine|sure|yet|now"
    r"|enough|open|up|down|on|off|true|false|null|empty|correct|valid|present|clear|much|many|so|too|very|only|just"
    r"|really|quite|even"
    r"|always|all|any|work|works|exist|match|have|be|in|at|to|for|from|my|your|our|an?|the|it|this|that|necessary"
    r"|equal|unique|safe|stale"
    r"|built|kept|met|put|read|written|known|taken|given|gone|broken|hit|sync"
    r"|synced)\b)[\w./+#@-]+(?:\s+(?!yet\b|now\b|again\b|any)[\w./+#@-]+)?\W*$",
    re.IGNORECASE,
)
_STYLE = lazy(
    _LEAD
    + r"(?:(?:single|double)\s+quotes|(?:british|american|us|uk)\s+(?:english|spelling)|conventional\s+commits"
    r"|(?:snake|camel|kebab|pascal)"
    r"[\s_-]?case|tdd|(?:small|atomic|tiny|short|signed)\s+commits|tests?[\s-]first|(?:less|fewer)\s+(?!is\b|than\b)\w+"
    r"|one\s+\w+\s+per\s+\w+|read[\s-]only"
    r"|be\s+(?:more\s+|very\s+)?(?:brief|terse|concise|short|succinct|direct|explicit|consistent|careful|conservative)"
    r"|(?:answer|respond|reply|explain)\s+(?:briefly|shortly|concisely|tersely|short)|skip\s+(?:the\s+|all\s+"
    r"|any\s+)?(?:summar|explanation"
    r"|preamble|intro|pleasantr|recap|filler|flattery|small\s?talk)|sign\s+(?:all|every|your)\s"
    r"|all\s+(?!.*\bfail)\w+(?:\s+(?!is\b|are\b)\w+)?\s+(?:in|as|with"
    r"|under|below)\s+\w|(?:it\s+)?(?:has|have|needs?|should|ought\s+to)\s+(?:to\s+)?(?:work|run|build|compile|stay"
    r"|remain|support|fit)\s+(?!now\b"
    r"|again\b|fine\b|though\b|then\b|as\s+expected)\w|(?:请|請)?(?:改?用|使用)[\w@./ -]+\W*$|finger\s+weg"
    r"|sans\s+\w+\s+(?:en\s+plus|inutile)"
    r"|.{1,40}[^これそあとのん]で(?:お願い(?:します)?|頼む|よろしく)[。！!]*$|.{1,40}先に(?:書|作成|実行|確認|テスト)|(?:先|まず)に?(?:確認|聞いて))",
    re.IGNORECASE,
)


def names_language(sentence: str) -> bool:
    """Return whether a sentence says in which language something is to be written, and asks for no translation."""
    return bool(_LANGUAGE.search(sentence)) and not _TRANSLATES.search(sentence)


def orders_language(sentence: str) -> bool:
    """Return whether a sentence says in which language to speak or to write: "Antworte auf Deutsch."."""
    return names_language(sentence) and bool(_SPEAKS.search(sentence))


def is_terse(sentence: str) -> bool:
    """Return whether a short sentence has the form of a rule without a word that binds."""
    if len(sentence) > _LONGEST:
        return False
    return names_language(sentence) or any(
        form.match(sentence) for form in (_WITHOUT, _NOT, _STYLE)
    )
