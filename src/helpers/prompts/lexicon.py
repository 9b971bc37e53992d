"""Word lists of the checks and statistics of prompts, in lower case but for names."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Names of languages that a prompt may mention; the tasks' own are added.
LANGUAGES = _words("""
    Afrikaans Albanian Amharic Arabic Armenian Azerbaijani Basque Belarusian Bengali Bosnian Bulgarian
    Burmese Catalan Cantonese Chinese Croatian Czech Danish Dutch English Estonian Filipino Finnish French
    Galician Georgian German Greek Gujarati Hausa Hebrew Hindi Hungarian Icelandic Igbo Indonesian Irish
    Italian Japanese Javanese Kannada Kazakh Khmer Korean Kurdish Lao Latvian Lithuanian Macedonian Malay
    Malayalam Mandarin Maltese Marathi Mongolian Nepali Norwegian Pashto Persian Polish Portuguese Punjabi
    Romanian Russian Serbian Sinhala Slovak Slovenian Somali Spanish Swahili Swedish Tagalog Tamil Telugu
    Thai Tibetan Turkish Ukrainian Urdu Uzbek Vietnamese Welsh Xhosa Yoruba Zulu
""")

# ISO 639-3 codes of languages.
CODES = _words("""
    ara ben bul ces cmn dan deu ell eng est fas fin fra heb hin hun ind ita jpn kor nld nor pol por ron
    rus spa swa swe tam tel tha tur ukr urd vie zho
""")

# Words of a description that do not give the data set away.
COMMON = _words("""
    text texts sentence sentences document documents question questions answer answers query queries
    passage passages pair pairs task tasks data dataset datasets benchmark based using used with from
    their that this these those which into between each different languages language short long given same
    ability corpus consisting consists containing contains contain collection human annotated annotations
    retrieval retrieve clustering classification similarity prompt prompts semantic textual translation
    translations translate relevant search find cluster classify meaning best only without labels label
    grouped group groups graded where what whether about whose other them they have been were class
    classes category categories topic topics representation representations represent groundtruth right
    near
""")

# An instruction begins with one of these: a closed list, because a tagger would be a model to judge models with.
IMPERATIVES = _words("""
    answer assign capture categorise categorize choose classify cluster collect compare compute convert
    decide describe detect determine distinguish embed encode estimate evaluate fetch find focus generate
    get give group identify infer judge label locate look map mark match measure organise organize pair
    partition pick predict process provide put rank rate recognise recognize represent retrieve return
    score search select separate sort tag transform translate use
""")

# A question begins with one of these.
QUESTION_WORDS = _words("""
    what which who whose when where why how is are do does did can could would should
""")
