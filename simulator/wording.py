"""What a short text says, as far as rules can tell: numbers, units, names, quoted strings, negation, content words.

Made for comparing a shard with somebody's own words for it. Numbers are compared by value however they are written
(`1/4`, `a quarter`, `25%`; `two dozen`, `24`), words by their stem, a few everyday synonyms taken as one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, wraps
from typing import NamedTuple, TypeAlias, TypeVar

from tasks.number_words import PARTS, SCALES, UNITS, read_words

Read = TypeVar("Read")


def remembered(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """`read`, which remembers what it made of short texts: the rules of the guard read the same few ones over and over."""
    known = lru_cache(maxsize=4096)(read)

    @wraps(read)
    def of(text: str) -> Read:
        return known(text) if len(text) <= 1000 else read(text)

    return of


_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-"})


@remembered
def plain(text: str) -> str:
    """One spelling of what varies: quotation marks, dashes, spaces, and fractions like `2½` (`2 1/2`)."""
    spaced = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)
    return unicodedata.normalize("NFKC", spaced).replace("\u2044", "/").translate(_ALIKE)


# -- numbers ------------------------------------------------------------------------------------------------------

#: Exact; whole numbers in digits are plain integers, which compare and hash like the fractions they equal, only faster.
Value: TypeAlias = int | Fraction


class Number(NamedTuple):
    """A number in a text.

    Attributes:
        value: what it says (`25%` is 1/4). `values`: what it may stand for (`25%` is also 25, `third` 3 and 1/3).
        firm: written to be a number. Others (`a`, `first`, `May`) fulfil a demand but make none.
        written: as the text has it. `end`: where it ends in the plain text, for the unit behind it.
    """

    value: Value
    values: frozenset[Value]
    firm: bool
    written: str
    end: int


_TIMES = {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "dozen": 12}
_DIGITS = re.compile(
    r"""
    (?<![\w.]) (?P<minus>(?:(?<![\w)\]}])-|negative\s)?) (?P<less>(?:minus\s|-\s)?) [$€£¥]?
    (?: (?P<date>\d+(?:-\d+){2} | \d+(?:/\d+){2})
      | (?:(?P<whole>\d+)\s+)?(?P<above>\d+)\s?/\s?(?P<below>\d+)
      | (?P<decimal>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d) | \d+(?:\.\d+)? | \.\d+) )
    (?:\s?(?P<times>thousand|million|billion|k|bn|dozen)\b | (?:st|nd|rd|th)\b)?
    (?P<percent>\s?(?:%|per\s?cent\b))?
    """,
    re.VERBOSE,
)
_SPELT = "|".join(sorted({*UNITS, *SCALES, *PARTS, *(part + "s" for part in PARTS), "dozen"}, key=len, reverse=True))
_RUN = re.compile(
    rf"(?<!\d\s)\b(?:(?:minus|negative|an?)\s)?(?:{_SPELT})(?:(?:\s|-|\sand\s(?:a\s)?|\sa\s)(?:{_SPELT}))*\b(?P<percent>\s?per\s?cent\b)?"
)
MULTIPLES = {"twice": 2, "thrice": 3} | {
    word + ending: n for word, n in {"double": 2, "triple": 3, "quadruple": 4}.items() for ending in ("", "s", "d")
}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_MONTHS = "january february march april may june july august september october november december"
_SOFT = (
    dict.fromkeys(("a", "an", "one", "once", "single", "alone"), 1)
    | dict.fromkeys(("no", "none", "nothing", "nobody"), 0)
    | dict.fromkeys(("both", "pair", "pairs", "couple"), 2)
    | {word: n for words in (_ORDINALS, _MONTHS) for n, word in enumerate(words.split(), 1)}
)
#: Nothing longer is read as a number: 10**(10**9) would be computed exactly.
_MAX_DIGITS = 40


@remembered
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers in a text: those in digits first, then those in words."""
    low = plain(text).lower()
    return (*_in_digits(low), *_in_words(low))


def _in_digits(low: str) -> Iterator[Number]:
    for found in _DIGITS.finditer(low):
        if len(found[0]) > _MAX_DIGITS:
            continue
        for value in _value_of_digits(found):
            if found["times"]:
                value *= _TIMES[found["times"]]
            number = _number(-value if found["minus"] else value, found)
            # "5x minus 4" holds a 4, "minus 4 degrees" a -4
            yield number._replace(values=number.values | {-value}) if found["less"] else number


def _value_of_digits(found: re.Match[str]) -> list[Value]:
    if found["date"]:
        return [int(part) for part in re.split("[-/]", found["date"])]
    if found["above"]:
        below = int(found["below"]) or 1
        return [int(found["whole"] or 0) + Fraction(int(found["above"]), below)]
    decimal = found["decimal"].replace(",", "")
    return [int(decimal) if decimal.isdecimal() else Fraction(decimal)]


def _in_words(low: str) -> Iterator[Number]:
    for found in _RUN.finditer(low):
        words = found[0].removesuffix(found["percent"] or "").strip()
        for value in _value_of_words(words):
            if words in _SOFT or (words in PARTS and words not in ("half", "quarter")):
                yield Number(value, frozenset({value, _SOFT.get(words, value)}), False, words, found.end())
            else:
                yield _number(value, found)
    for found in re.finditer(r"[a-z]+", low):
        word = found[0]
        if word in MULTIPLES or word in _SOFT:
            n = MULTIPLES.get(word) or _SOFT[word]
            yield Number(n, frozenset({n}), word in MULTIPLES, word, found.end())


def _value_of_words(words: str) -> list[Value]:
    """`two dozen` is 24, `half a dozen` 6; a run that is no one number (`two three`) is each of its words."""
    before, dozen, after = words.partition("dozen")
    if dozen and not after:
        count = before.removesuffix(" a ").strip(" -")
        value = 1 if count in ("", "a") else read_words(count)
        return [value * 12] if value is not None else [12]
    value = read_words(words)
    return (
        [value]
        if value is not None
        else [v for word in re.split(r"[\s-]+", words) if (v := read_words(word)) is not None]
    )


def _number(value: Value, found: re.Match[str]) -> Number:
    said = Fraction(value, 100) if found["percent"] else value
    return Number(said, frozenset({said, value}), True, found[0].strip(), found.end())


@remembered
def values(text: str) -> frozenset[Value]:
    """Every value a number of the text may be compared with."""
    return frozenset(value for number in numbers(text) for value in number.values)


@remembered
def firm_values(text: str) -> frozenset[Value]:
    """The values of the numbers that were written to be numbers."""
    return frozenset(value for number in numbers(text) if number.firm for value in number.values)


# -- units --------------------------------------------------------------------------------------------------------

_UNITS = """
dollar dollars $ usd buck bucks | cent cents ¢ | euro euros € eur | pound pounds £ gbp lb lbs quid
hour hours hr hrs hourly | minute minutes min mins | second seconds sec secs | day days daily | week weeks weekly wk
month months monthly | year years yearly annual annually yr yrs
mile miles mi | kilometer kilometers kilometre kilometres km kms | meter meters metre metres | yard yards yd
centimeter centimeters centimetre centimetres cm | millimeter millimeters millimetre millimetres mm
foot feet ft | inch inches | gram grams | kilogram kilograms kg kilo kilos | milligram milligrams mg | ounce ounces oz
ton tons tonne tonnes | liter liters litre litres | milliliter milliliters millilitre millilitres ml | gallon gallons gal
degree degrees ° | celsius centigrade | fahrenheit | calorie calories kcal | am a.m | pm p.m | kb | mb | gb | tb
"""
_UNIT: dict[str, frozenset[str]] = {
    word: frozenset({line.split()[0]}) for line in re.split(r"[|\n]", _UNITS) if line.strip() for word in line.split()
} | {
    "mph": frozenset({"mile", "hour"}),
    "kph": frozenset({"kilometer", "hour"}),
    "km/h": frozenset({"kilometer", "hour"}),
}
#: Letters that are a unit only right behind digits.
_LETTER = {"h": "hour", "m": "meter", "g": "gram", "l": "liter", "c": "celsius", "f": "fahrenheit"}
_UNIT_WORD = re.compile(r"[$€£°¢]|km/h|[ap]\.m|[a-z]+")


def units(text: str) -> set[str]:
    """The units a text mentions anywhere, each under one name."""
    low = plain(text).lower()
    mentioned = {unit for word in _UNIT_WORD.findall(low) for unit in _UNIT.get(word, ())}
    return mentioned | {_LETTER[letter] for letter in re.findall(r"\d\s?°?([hmglcf])\b", low)}


def units_of_numbers(text: str) -> set[str]:
    """The units that stand beside a number in digits or words, so belong to a quantity."""
    low = plain(text).lower()
    found = {unit for sign in re.findall(r"[$€£](?=\s?\.?\d)", low) for unit in _UNIT[sign]}
    for number in numbers(text):
        behind = re.match(r"[\s-]?(°\s?[cf]?\b|¢|km/h|[ap]\.m|[a-z]+)", low[number.end :])
        if number.firm and behind:
            found |= _UNIT.get(behind[1], frozenset()) | units("0" + behind[1])
    return found


# -- names, quoted strings, negation ------------------------------------------------------------------------------

_QUOTED = re.compile(r'"([^"\n]{1,300})"|`([^`\n]{1,300})`|(?<!\w)\'([^\'\n]{1,300})\'(?!\w)')


def quoted(text: str) -> set[str]:
    """The strings in quotation marks or backticks, without a final comma or stop."""
    return {next(filter(None, found)).rstrip(",.") for found in _QUOTED.findall(plain(text))}


_TITLES = {"mr", "mrs", "ms", "dr", "st", "prof"}
_NO_NAMES = {
    "i",
    "ok",
    "okay",
    "usd",
    "eur",
    "gbp",
    "am",
    "pm",
    "a",
    "kg",
    "km",
    "mph",
    "gb",
    "mb",
    "kb",
    "tb",
    "x",
    "y",
    "n",
}


@remembered
def words(text: str) -> frozenset[str]:
    """All words of a text in lower case, possessives and plurals also without their ending."""
    found = frozenset(re.findall(r"\w+(?:'\w+)?", plain(text).lower()))
    return found | {word.removesuffix("'s") for word in found} | {word.removesuffix("s") for word in found}


def names(text: str, *evidence: str) -> frozenset[str]:
    """Words written as names: capitals inside a sentence, camelCase, snake_case, letters with digits; in lower case.

    The first word of a sentence counts only where `evidence` (more texts of the same hand) has it with a capital inside one.
    """
    inside, first = _capitalised(text)
    confirmed = (first & _capitalised(other)[0] for other in evidence) if first else ()
    return inside.union(*confirmed) - _NO_NAMES


@remembered
def _capitalised(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words written as names inside sentences, and words that have a capital only because a sentence begins."""
    inside: set[str] = set()
    first: set[str] = set()
    text = plain(text)
    for found in re.finditer(r"\w+", text):
        word = found[0]
        if _looks_like_a_name(word):
            ordinary = len(word) == 1 or word[1:].islower()
            (first if ordinary and _begins_sentence(text, found.start()) else inside).add(word.lower())
    return frozenset(inside), frozenset(first)


def _looks_like_a_name(word: str) -> bool:
    if word.isalpha():
        return word != word.lower()
    written = word != word.lower() or "_" in word or re.search(r"\D\d", word)
    return bool(written and re.search(r"[^\W\d_]", word))


_SENTENCE_OPENING = re.compile(r"(?:^|(\w*)[.:!?\n])[\s\"'(\[*-]*$")


def _begins_sentence(text: str, at: int) -> bool:
    opening = _SENTENCE_OPENING.search(text, max(0, at - 60), at)
    return opening is not None and (opening[1] or "").lower() not in _TITLES


_OPENING_WORDS = """
a also actually after all an and any apply as at avoid be before begin both but by build buy calculate change check
close come compare compute consider convert create currently determine do during each ensure estimate evaluate every
exclude finally find first focus follow for from generate get give go here if in include its just keep let limit list
look make many measure most move need next now of on only open order out over pay perform plan please predict print
provide put read remember remove report return run search second see sell send set she show since some sort specify
start suppose take tell that the their then there these they third this those to today total track train try turn
under update use want was we when while with write you your he her his my our it
"""
_OPENERS = frozenset(_OPENING_WORDS.split())
_PRONOUN = re.compile(
    r"\b(?:he|she|they|it|his|hers?|theirs?|its|him|them|who|himself|herself|themselves)\b", re.IGNORECASE
)


def subject(text: str) -> str | None:
    """Whom or what a statement is about, if it begins with a capital word that is likely to say so (`Dad gave …`)."""
    opening = re.match(r"[\s\"'(\[*-]*([A-Z]\w{2,})(?!'[^s])", plain(text))
    word = opening[1].lower() if opening else ""
    is_one = word and word not in _OPENERS and not word.endswith(("ing", "ly")) and not values(word)
    return word if is_one else None


def has_pronoun(text: str) -> bool:
    """Whether a text has a pronoun of the third person."""
    return bool(_PRONOUN.search(plain(text)))


_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|cant|dont|doesnt|isnt|wont|except|excluding|unless)\b|n't\b"
)
_NO_DENIAL = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|earlier|longer|greater|smaller|higher|lower) than\b|\bnot only\b"
    r"|\b(?:don't|do not|not) (?:forget|worry)\b|\bno problem\b|\bi (?:don't|do not) (?:know|think|remember)\b"
)
_ALSO_NEGATES = re.compile(
    r"\b(?:avoid|exclud|omit|skip|ignor|lack|zero|instead|rather than|refrain|forbid|fail|un\w{4,}|free of|other than)"
)


def denies(text: str) -> bool:
    """Whether a text denies something; `no more than 5`, `don't forget` and `I don't know` deny nothing."""
    return bool(_NEGATION.search(_NO_DENIAL.sub("", plain(text).lower())))


def may_negate(text: str) -> bool:
    """The same, more generous: other words for a denial count too."""
    low = plain(text).lower()
    return bool(_NEGATION.search(low) or _ALSO_NEGATES.search(low))
