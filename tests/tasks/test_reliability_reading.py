"""What a reply says, read by rules: sentences counted, one label chosen, slots of a booking filled in."""

from __future__ import annotations

import json
from datetime import date, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.call_match import as_tool
from tasks.calls import Unreadable, calls_as_text, read_calls
from tasks.nouns import ToolCall
from tasks.reliability.dates import find_dates
from tasks.reliability.labels import read_choice
from tasks.reliability.people import find_people
from tasks.reliability.phrases import SAYERS
from tasks.reliability.sentences import count_sentences
from tasks.reliability.slots import Context, Slot, read_field, read_fields, read_slots
from tasks.reliability.times import find_times, read_length
from tasks.reliability.tools import CHOICES
from tasks.travel.answers.form import Frame
from tasks.travel.answers.quantities import Metres

TODAY = date(2026, 3, 4)  # a Wednesday
HOSTILE = [
    "." * 9,
    "a. ",
    "(",
    '"',
    "Mr. ",
    "A.B.",
    "- a\n",
    "**",
    "`",
    "a@",
    "www.",
    "_ ",
    "```",
    "> ",
    "{",
    "[",
    "not ",
    "f(",
]
HOSTILE += [
    "weather ",
    "12 ",
    "half ",
    "in the evening ",
    "one-",
    "a couple ",
    "my ",
    "date: ",
    "{'a': ",
    "n't ",
    "\n",
    " ",
    "1/",
]

# -- sentences --------------------------------------------------------------------------------------------------------

COUNTED = {
    "Stop! Who goes there? It is only me.": 3,  # SC-01
    "Bring fruit, e.g. apples, i.e. the red ones, as Li et al. suggest.": 1,  # SC-03
    "The lamp was made in 1998. It still works.": 2,  # SC-05
    "She wears size M. It fits well.": 2,  # SC-06
    # SC-08, arguable: a missing space must not be a way to say more than is allowed.
    "The lamp is red.The table is green.": 2,
    "It was the Ph.D.'s duty to reply.": 1,  # SC-10
    # SC-11, arguable: a list of a few words is part of the sentence that opens it; longer items count one each (below).
    "Pack:\n- warm socks\n- a map\n- water": 1,
    "Tips:\n- wash the lettuce in cold water first\n- dry it in a clean towel": 3,
    "Moving:\n- Pack the boxes:\n- Rent a van:": 3,
    "It costs $3.50. Buy it.": 2,
    "Wait... what?": 1,
    "Well... Let me think.": 2,
    "Mix flour, sugar, etc. in a bowl.": 1,
    "Mix flour, sugar, etc. Then bake it.": 2,
    "He lives in the U.S. He likes it.": 2,
    "Meet at 5 p.m. sharp.": 1,
    "Meet at 5 p.m. The door is open.": 2,
    'She asked, "Why?" and left.': 1,
    'He said: "I came. I saw. I conquered."': 3,
    "(It rained. It poured.) Ok.": 3,
    "No. 5 is best.": 1,
    "Is it No. 5? No.": 2,
    "Dr. Smith met J. R. Tolkien in Washington D.C. on Monday.": 1,
    "See https://a.b/c.d. It helps.": 2,
    "Email me at a.b@c.org. Thanks!": 2,
    "Version 2.0.1 is out... Use it!": 2,
    "Call foo.Bar() to run Node.js.": 1,
    "so it goes. and then it ends. ok": 3,
    "1. Wash it.\n2. Dry it.": 2,
    "The lamp is\nred and old.": 1,
    "# Title\n\nText.": 2,
    "```py\nx. Y. Z.\n```\nDone.": 2,
    "| a | b |\n|---|---|\n| c | d |": 2,
    "句子。好！": 2,
    "---": 0,
    "😀": 0,
    "": 0,
}


@pytest.mark.parametrize("text", COUNTED)
def test_sentences_are_counted(text: str) -> None:
    assert count_sentences(text).strict == COUNTED[text]


def test_only_the_strict_count_sees_items_without_end_marks() -> None:
    tips = "\n".join(f"- the tip number {n} is longer than a word or two" for n in range(9))
    assert (count_sentences(tips).strict, count_sentences(tips).lenient) == (9, 1)


WORDS = st.sampled_from(("the", "lamp", "on", "my", "table", "shines", "red", "at", "night", "again"))
PLAIN = st.lists(WORDS, min_size=2, max_size=9).map(lambda words: " ".join(words).capitalize())


@settings(deadline=None)
@given(
    st.lists(st.tuples(PLAIN, st.sampled_from(".!?")), min_size=1, max_size=12), st.sampled_from([" ", "\n", "\n\n"])
)
def test_plain_sentences_are_counted_exactly(said: list[tuple[str, str]], between: str) -> None:
    count = count_sentences(between.join(text + mark for text, mark in said))
    assert (count.strict, count.lenient) == (len(said), len(said))


@settings(deadline=None)
@given(
    st.lists(PLAIN, min_size=1, max_size=6), st.sampled_from(["- {}.", "* {}", "> {}.", "**{}.**", '"{}."', "{}.\n"])
)
def test_no_dress_hides_a_sentence(said: list[str], dress: str) -> None:
    longer = [f"{text} and so it goes on" for text in said]
    assert count_sentences("\n".join(map(dress.format, longer))).strict == len(said)


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_count(text: str) -> None:
    count = count_sentences(text)
    assert 0 <= count.lenient <= count.strict + 1
    assert (count.lenient > 0) == (count.strict > 0)


# -- one label of a few -----------------------------------------------------------------------------------------------

CHOSEN = {
    "Weather": "Weather",
    "weather.": "Weather",
    "The best tool is the Calculator.": "Calculator",
    "**Stock**": "Stock",
    "Tool: Dictionary": "Dictionary",
    "[News], because the weather does not matter": "News",
    "Not the News but the Stock tool.": "Stock",
    "I don't need Weather, News is right.": "News",
    '{"tool": "Recipe"}': "Recipe",
    "```json\n{'answer': 'News'}\n```": "News",
    "weather(place='Oslo')": "Weather",
    '[{"name": "stock", "arguments": {}}]': "Stock",
    "None": "None",
    "They asked for news.\n\nNews": "News",
}
NOT_CHOSEN = {
    "Weather, News": "ambiguous",
    "Weather\nNews": "ambiguous",
    "[Weather] [News]": "ambiguous",
    "Stock or Recipe?": "ambiguous",
    "weather()\nnews()": "ambiguous",
    '{"first": "News", "second": "Stock"}': "ambiguous",
    "I would not use the Weather tool here": "none",
    "How are you?": "none",
    "": "none",
    "[]": "none",
}


@pytest.mark.parametrize("reply", CHOSEN)
def test_one_label_is_chosen(reply: str) -> None:
    assert read_choice(reply, CHOICES).label == CHOSEN[reply]


@pytest.mark.parametrize("reply", NOT_CHOSEN)
def test_never_the_first_of_several(reply: str) -> None:
    choice = read_choice(reply, CHOICES)
    assert (choice.how, choice.label) == (NOT_CHOSEN[reply], None)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("It is not a clear Yes; the answer is No.", "no"),
        ("Yes\nNo", None),
        ("Unknown, the notes do not say yes or no.", "unknown"),
    ],
)
def test_verdicts(reply: str, label: str | None) -> None:
    """CL-10."""
    assert read_choice(reply, ("yes", "no", "unknown")).label == label


@pytest.mark.parametrize(
    "pred",
    [
        "```py\n[f(a=1)]\n```",
        "Here you go: [f(a=1)]",
        "f(a=1)\ng(b=2)",
        "['f(a=1)', 'g(b=2)']",
        "[f(a=1)]\nLet me know!",
    ],
)
def test_lenient_forms_of_calls(pred: str) -> None:
    """TP-01, arguable: all forms are read, for every model alike; two different functions are two choices.

    Calls written as strings in a list are read as the labels in brackets they look like, not as calls.
    """
    choice = read_choice(pred, ("f", "g"))
    assert choice.how == ("ambiguous" if "g(b=2)" in pred else "chosen")
    if "['" not in pred:
        assert read_calls(pred, ("f", "g"))[0].named == {"a": 1}


def test_forms_of_calls() -> None:
    for nothing in ("[]", ""):  # TP-03: no call, and no exception but the one that says so
        assert read_choice(nothing, ("f",)).how == "none"
        with pytest.raises(Unreadable) as raised:
            read_calls(nothing, ("f",))
        assert not raised.value.tried
    (call,) = read_calls('{"name": "f", "arguments": {"a": 1}}')  # TP-05
    assert (call.name, call.named) == ("f", {"a": 1})
    assert read_choice('{"name": "f", "parameters": {"a": 1}}', ("f",)).label == "f"
    native = calls_as_text([ToolCall("1", "ping", "")])  # TP-06
    assert read_choice(native, ("ping",)).label == "ping"
    # TP-08, arguable: what a schema is renamed to for the API is a function of its name, and reading undoes it.
    renamed = as_tool({"name": "math.circle.area", "parameters": {"type": "dict", "properties": {}}})
    assert renamed["function"]["name"] == "math_circle_area"
    (call,) = read_calls("[math_circle_area(r=2)]", ["math.circle.area"])
    assert call.named == {"r": 2}


@settings(deadline=None)
@given(
    st.text() | st.lists(st.sampled_from([*CHOICES, "not", "{", "}", "[", "]", '"', ":", ",", "(", ")"])).map(" ".join)
)
def test_a_chosen_label_stands_in_the_reply(reply: str) -> None:
    choice = read_choice(reply, CHOICES)
    assert (choice.how == "chosen") == (choice.label is not None)
    assert choice.label is None or choice.label.casefold() in reply.casefold()


# -- slots ------------------------------------------------------------------------------------------------------------


def times(text: str) -> list[set[str]]:
    return [{f"{m // 60:02d}:{m % 60:02d}" for m in time} for time in find_times(text, bare=True)]


@pytest.mark.parametrize("text", ["12:00 noon", "noon", "midday", "12 p.m.", "12:00 PM"])
def test_noon(text: str) -> None:
    """SN-01."""
    assert times(text) == [{"12:00"}]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tonight at 9:30", {"21:30"}),  # SN-03
        # SN-05, arguable: without a half of the day either may be meant; a clock that shows 24 hours means what it shows.
        ("half past seven", {"07:30", "19:30"}),
        ("7 o'clock", {"07:00", "19:00"}),
        ("1:30", {"01:30"}),  # SN-13, as a time of day
        ("09:00:00", {"09:00"}),  # SN-16, as a time of day
        ("7pm", {"19:00"}),
        ("7:00 p.m.", {"19:00"}),
        ("19:00", {"19:00"}),
        ("midnight", {"00:00"}),
        ("12am", {"00:00"}),
        ("12:30 am", {"00:30"}),
        ("24:00", {"00:00"}),
        ("9 in the morning", {"09:00"}),
        ("quarter to eight in the evening", {"19:45"}),
        ("quarter to one in the afternoon", {"12:45"}),
        ("ten to noon", {"11:50"}),
        ("8.30pm", {"20:30"}),
        ("twelve at night", {"00:00"}),
    ],
)
def test_times_of_day(text: str, meant: set[str]) -> None:
    assert times(text) == [meant]


@pytest.mark.parametrize("text", ["25:00", "3/15", "1998", "soon", "7%", "2026-03-15"])
def test_what_is_no_time(text: str) -> None:
    assert times(text) == []


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *[(text, 90) for text in ("1h30", "1h 30m", "1 hour and 30 minutes", "90 min", "1:30")],  # SN-13
        ("half an hour", 30),  # SN-05
        ("09:00:00", 9 * 60),  # SN-16
        ("10:00:00", 10 * 60),  # SN-16
        ("two hours", 120),
        ("soon", None),
        ("", None),
        ("30", None),
    ],
)
def test_lengths_of_time(text: str, minutes: int | None) -> None:
    assert read_length(text) == minutes


@pytest.mark.parametrize(
    ("text", "days"),
    [
        *[(text, ["01/07"]) for text in ("January 7th", "Jan. 7", "7 January", "january 7")],  # SN-06
        ("3/15", ["03/15"]),
        ("15/3", ["03/15"]),
        ("2026-03-15", ["03/15"]),
        ("the 3rd of May", ["05/03"]),
        ("May the fourth", ["05/04"]),
        ("New Year’s Eve", ["12/31"]),
        ("Valentines Day", ["02/14"]),
        ("Christmas Eve, not Christmas", ["12/24", "12/25"]),
        ("the Fourth of July", ["07/04"]),
        ("Feb 29", ["02/29"]),
        ("2/30", []),
        ("tomorrow", ["03/05"]),
        ("the day after tomorrow", ["03/06"]),
        ("in ten days", ["03/14"]),
        ("a week from today", ["03/11"]),
        ("this Friday", ["03/06"]),
        ("next Friday", []),  # people understand it in two ways
        ("Saturday, March 14", ["03/14"]),  # a weekday is no other day than the date beside it
        ("March 2026", []),
        ("4", []),
        ("may", []),
        ("7:30 May 3", ["05/03"]),
    ],
)
def test_days(text: str, days: list[str]) -> None:
    assert [str(day) for day in find_dates(text, TODAY)] == days


def test_relative_days_need_a_today_and_a_declared_order_holds() -> None:
    assert find_dates("tomorrow") == []
    assert [str(day) for day in find_dates("3/4", day_first=True)] == ["04/03"]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        # SN-08; `a couple` is arguable: at a table it is two people.
        *[("two of us", 2), ("1 dozen", 12), ("a dozen", 12), ("half a dozen", 6), ("a couple", 2)],
        ("my parents and I", 3),
        ("my wife, our two kids and me", 4),
        ("me and my three brothers", 4),
        ("four colleagues and me", 5),
        ("2 adults, 1 child", 3),
        ("a party of six", 6),
        ("4", 4),
        ("just me", 1),
        ("party of 4 including me", 4),
    ],
)
def test_people(text: str, people: int) -> None:
    assert find_people(text, bare=True) == [people]


def test_different_times_never_match() -> None:
    """SN-10."""
    assert not read_field("09:00", "time").same(read_field("17:15", "time"))


def test_not_given_is_not_any() -> None:
    """SN-11."""
    kinds = {"area": "text", "date": "date"}
    gold, pred = (
        read_fields({"area": "dontcare", "date": None}, kinds),
        read_fields({"area": None, "date": None}, kinds),
    )
    assert {name: pred[name].same(gold[name]) for name in kinds} == {"area": False, "date": True}
    assert read_field("Any time", "time").same(Slot("any"))
    assert not read_field("flexible", "time").same(read_field("7pm", "time"))


@pytest.mark.parametrize("answer", ["1.2 km", "1,200 m", "1200 metres", "1200"])
def test_distances(answer: str) -> None:
    """SN-15, arguable: a comma before three digits is one of thousands. Distances are read by the travel problem's form."""
    assert Metres().read(answer, Frame()) == 1200


KINDS = {"date": "date", "time": "time", "people": "people"}
BOOKED = {"date": "03/15", "time": "7pm", "people": 4}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(BOOKED),
        'Sure!\n```json\n{"booking": {"day": "March 15", "time": "19:00", "party_size": "four people"}}\n```',
        "{'date': 'the 15th of March', 'time': '7 p.m.', 'people': 4}",
        "Date: March 15\n- **Time**: 7 pm\nPeople: four",
        "Date: 03/15, Time: 7pm, People: 4",
        "I have noted a table for four on March 15 at 7 in the evening.",
        '{"date": "03/15", "time": "7pm", "people": 4}\nAgain: {"date": "3/15", "time": "19:00", "people": "4"}',
    ],
)
def test_bookings_are_read_in_many_forms(reply: str) -> None:
    read, target = read_slots(reply, KINDS, Context(TODAY)), read_fields(BOOKED, KINDS)
    assert all(read[name].same(target[name]) for name in KINDS), read


def test_different_values_of_a_slot_are_unreadable() -> None:
    read = read_slots('{"date": "03/15"} or {"date": "03/16"}', KINDS)
    assert (read["date"].state, read["time"].state) == ("unreadable", "absent")
    assert read_field("7pm or 8pm", "time").state == "unreadable"
    assert read_field(True, "people").state == "unreadable"


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 364), st.sampled_from(sorted(SAYERS)))
def test_what_is_said_is_what_is_read(seed: int, day: int, slot: str) -> None:
    """Two ways to the same value: the phrase that is made of it, and reading that phrase."""
    today = date(2026, 1, 1) + timedelta(day)
    phrase = SAYERS[slot](today, Random(seed))
    target = read_field(phrase.value, slot)
    for text in (phrase.said, phrase.bare):
        assert read_field(text, slot, Context(today)).same(target), phrase


@settings(deadline=None)
@given(st.text())
def test_any_reply_has_slots(reply: str) -> None:
    assert set(read_slots(reply, KINDS, Context(TODAY))) == set(KINDS)


# -- hostile texts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_tangles_end(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    count_sentences(text)
    read_choice(text, CHOICES)
    read_slots(text, KINDS, Context(TODAY))
