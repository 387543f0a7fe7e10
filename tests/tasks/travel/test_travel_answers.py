"""How an answer is found in what assistants really write, read, and measured."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.travel.answers.choices import TimeOfDay, YesNo
from tasks.travel.answers.form import Form, Frame
from tasks.travel.answers.metrics import Overlap, closeness, overlap, rounded
from tasks.travel.answers.names import NameOrder, NameSet
from tasks.travel.answers.quantities import Amount, Interval, Metres

TRAINS = Frame(("15:32", "16:32", "17:32", "18:32", "19:32"))
WEST = Frame(("Norbury College", "Basil Bowl"), about="west")
FOUR = Frame(("Curious Ladle", "Midnight Table", "Fennel Bowl", "Jade Fork"))
STOPS = Frame(("Quayle Theatre", "Ellison Museum", "Abbot Park"))
TWO_OPEN = ["Curious Ladle", "Fennel Bowl"]
EAST_TO_WEST = ["Ellison Museum", "Quayle Theatre", "Abbot Park"]

#: Form, frame, what is meant, and ways to say it; None: the reply gives no answer.
SAID: list[tuple[Form, Frame, Any, list[str]]] = [
    (
        Amount(),
        Frame(),
        "83.84",
        [
            "The total is £83.84.",
            "The total cost for all tickets is **£83.84**. Would you like me to book them?",
            "25.70 + 17.10 + 6.84 + 34.20 = £83.84",
            "1. Mia: 25.70\n2. Tom: 17.10\n3. Eva: 6.84\n4. Leo: 34.20\n\nTotal: 83.84 pounds",
            "- Mia: £25.70\n- Tom: £17.10\n- Eva: £17.10 × 0.4 = £6.84\n- Leo: £17.10 × 2 = £34.20\n\n"
            "**Total: £25.70 + £17.10 + £6.84 + £34.20 = £83.84**\n\nShall I go ahead and book these tickets for you?",
            "The total price for your 4 tickets comes to £83.84 (25.70 + 17.10 + 6.84 + 34.20).",
            "That'll be £83.84 in total, which is £20.96 each.",
            "83.84",
            "The answer is \\boxed{83.84}.",
            "Your tickets together cost 83.84 pounds.",
            "So the total is\n\n$25.70 + 17.10 + 6.84 + 34.20 = 83.84$ pounds.",
            "You will pay £83.84 for everything.",
            "I'm sorry to hear that. The total is 83.84.",
            "Total Cost = £83.84. This includes the 60% discount for Eva.",
            "1. **Room:**\n   - Room per night: 84.00 pounds\n2. Total cost = \\(74.00 + 9.84 = 83.84\\) pounds\n\n"
            "Therefore, the total cost of our whole stay is \\(\\boxed{83.84}\\) pounds.",
            "\\[\n43.00 \\text{ pounds} + 40.84 \\text{ pounds} = 83.84 \\text{ pounds}\n\\]",
        ],
    ),
    (
        Amount(),
        Frame(),
        "1342",
        [
            "Total for 2 nights: £1,342",
            "**Total: £1,342** for the 2 nights, all 3 rooms.",
            "It comes to 1342 GBP for your stay.",
        ],
    ),
    (
        Amount(),
        Frame(),
        None,
        [
            "How many of you need a return ticket?",
            "The 10:15 train costs £17.10 one way. How many of you are travelling?",
            "Sure, I have found the train TR0712.",
            "I need to know the class of each ticket.",
            "Your train leaves at 10:15.",
            "The total is £" + "9" * 60,
            "",
        ],
    ),
    (
        Metres(),
        Frame(),
        3814.5,
        [
            "The distance is approximately 3,814.5 metres.",
            "d = sqrt((5326-3993)^2 + (5686-2112)^2) = sqrt(14550365) ≈ 3814.5 m",
            "It's about 3.8145 km away.",
            "The distance from Victoria Villa to Silver Kettle is √(1333² + 3574²) ≈ **3814.5 metres**, or about 3.8 km.",
            "So, the distance between the hotel and the restaurant is $\\boxed{3814.5}$ metres.",
            "Distance = 3814.5",
            "It is 3814.5 metres (about 3.8 km) from the hotel to the restaurant. Would you like directions?",
        ],
    ),
    (
        Metres(),
        Frame(),
        None,
        ["Which hotel are you staying at?", "I don't have the location.", "The hotel is at x = 3993, y = 2112."],
    ),
    (
        Interval(),
        Frame(),
        34.8,
        [
            "On average, trains leave every 34.8 minutes.",
            "The average interval is (10:38 − 07:09)/6 = 209/6 ≈ 34.8 minutes.",
            "Average = 209 / 6 = 34.8",
            "Trains run about every 34.8 minutes between 07:00 and 11:30.",
            "**34.8 minutes**",
            "There are 7 departures. From the first to the last it is 209 minutes, so the average interval is 34.8 minutes.",
            "34.8",
        ],
    ),
    (
        Interval(),
        Frame(),
        30.0,
        ["They leave every half hour.", "every 25-35 minutes on average", "There are 2 trains per hour."],
    ),
    (Interval(), Frame(), 60.0, ["Trains leave hourly.", "once an hour", "every 1 hour", "Every hour, on average."]),
    (Interval(), Frame(), 75.0, ["On average every 1 hour 15 minutes.", "about every 1.25 hours"]),
    (
        Interval(),
        Frame(),
        None,
        ["Which day do you want to travel?", "Trains leave at 07:09 and 07:40. Which route do you mean?"],
    ),
    (
        TimeOfDay(),
        TRAINS,
        "18:32",
        [
            "The last train you can take leaves at 18:32.",
            "The train at 18:32 arrives at 19:32, which is before sunset at 19:57.",
            "Sunset is at 19:57, so arrive before then. The 18:32 train arrives at 19:32. The next one arrives at 20:32,"
            " which is too late. Therefore, you should take the **18:32** train.",
            "18:32",
            "You can take the 6:32 PM train, arriving at 7:32 PM.",
            "To arrive before sunset (19:57), the latest train is TR0012, leaving at 18:32 and arriving at 19:32.",
            "- 15:32 → 16:32\n- 16:32 → 17:32\n- 17:32 → 18:32\n- 18:32 → 19:32\n\nSo the last train leaves at **18:32**.",
            "The last train to arrive before sunset (19:57) departs at 18:32 and arrives at 19:32. Would you like to book it?",
            "Your train leaves at 18:32 (arrival 19:32).",
            "The last train before sunset is at 18:32.",
            "The last train to arrive before sunset is the 18:32.",
            "The train that arrives before the sun sets at 19:57 leaves at 18:32. Do you need anything else?",
        ],
    ),
    (
        TimeOfDay(),
        TRAINS,
        None,
        ["When do you want to leave?", "The sun sets at 19:57. Which day?", "Sunset in Holmham is at 19:57."],
    ),
    (
        YesNo(),
        WEST,
        "yes",
        [
            "Yes, it is.",
            "Yes, it is. Do you need directions?",
            "yes",
            "**Yes**, since 6242 < 7151.",
            "Norbury College is further west than Basil Bowl.",
            "The x of Norbury College is 6242 and that of Basil Bowl is 7151. So Norbury College is further west.",
            "Basil Bowl is at x = 7151.\nNorbury College is at x = 6242.\n\nTherefore, the answer is yes.",
            "Basil Bowl is further east than Norbury College.",
        ],
    ),
    (
        YesNo(),
        WEST,
        "no",
        [
            "No, it isn't.",
            "Norbury College is not further west than Basil Bowl.",
            "Norbury College is further east than Basil Bowl.",
            "It is not a clear Yes; the answer is No.",  # case CL-10
            "**Answer: No**",
        ],
    ),
    (
        YesNo(),
        WEST,
        None,
        [
            "Yes\nNo",  # case CL-10
            "Unknown, the notes do not say yes or no.",  # case CL-10
            "Which restaurant do you mean?",
            "No problem! Which restaurant do you mean?",
            "I am not sure.",
            "Norbury College lies 1068 metres east of the south-west corner of the town map.",
            "Norbury College is in the west of town.",
            "Yes, I can help with that! Where is the restaurant?",
        ],
    ),
    (
        NameSet(),
        FOUR,
        TWO_OPEN,
        [
            "Curious Ladle and Fennel Bowl are open for the whole time.",
            "The following are open:\n\n- **Curious Ladle** (11–23)\n- **Fennel Bowl** (12–22)\n\nShall I book a table?",
            "- Curious Ladle: 11:00-23:00, covers it all.\n- Midnight Table: 08:30-14:00.\n- Fennel Bowl: 10:00-22:00.\n"
            "- Jade Fork: 17:00-23:00.\n\nSo Curious Ladle and Fennel Bowl are open for the whole time.",
            "- Curious Ladle: 11:00-23:00, open.\n- Midnight Table: 08:30-14:00, not the whole time.\n"
            "- Fennel Bowl: 10:00-22:00, open.\n- Jade Fork: closed on Sunday.",
            "All of them except Midnight Table and Jade Fork are open.",
            "Curious Ladle and Fennel Bowl are open then, but Midnight Table and Jade Fork are closed.",
            "1. Curious Ladle ✅\n2. Midnight Table ❌\n3. Fennel Bowl ✅\n4. Jade Fork ❌",
            "Curious Ladle, Fennel Bowl",
            "Only Curious Ladle and Fennel Bowl are open for the entire time. Midnight Table closes at 14:00.",
            "Of these, curious ladle and fennel bowl stay open for the whole time you want.",
            "Curious Ladle and Fennel Bowl are open for the whole time. Which one would you prefer?",
        ],
    ),
    (
        NameSet(),
        FOUR,
        [],
        [
            "None of them is open.",
            "Unfortunately, none of these restaurants is open at that time.",
            "No restaurants are open then.",
            "Curious Ladle, Midnight Table, Fennel Bowl and Jade Fork are all closed then.",
        ],
    ),
    (
        NameSet(),
        FOUR,
        list(FOUR.names),
        [
            "All of them are open.",
            "All four restaurants are open for at least an hour.",
            "They are all open on Sunday.",
        ],
    ),
    (
        NameSet(),
        FOUR,
        None,
        [
            "When would you like to eat?",
            "I can book a table for you.",
            "I can help you with all of that.",
            "Jade Fork is closed on Monday.",
            '{"restaurants": [{"name": "Jade Fork", "opening_hours": {"monday": "17:00-23:00"}}]}',
            "Which restaurant, Curious Ladle or Jade Fork?",
        ],
    ),
    (
        NameOrder(),
        STOPS,
        EAST_TO_WEST,
        [
            "You should visit Ellison Museum first, then Quayle Theatre, and finally Abbot Park.",
            "Hotel → Ellison Museum → Quayle Theatre → Abbot Park",
            "1. Ellison Museum\n2. Quayle Theatre\n3. Abbot Park",
            "Routes:\n- Quayle Theatre, Ellison Museum, Abbot Park: 5000 m\n- Ellison Museum, Quayle Theatre, Abbot Park:"
            " 4000 m\n\nThe shortest is Ellison Museum → Quayle Theatre → Abbot Park.\n\nWould you like me to book a taxi?",
            "Start at the hotel and walk to Ellison Museum (800 m).\nThen go to Quayle Theatre (500 m).\nEnd at Abbot Park.",
            "The best order:\n\n1. **Ellison Museum** – 683 m\n2. **Quayle Theatre** – 1175 m\n3. **Abbot Park** – 300 m",
            "1. **Quayle Theatre**: next to Abbot Park and Ellison Museum, so we should visit it.\n\n"
            "Therefore, the optimal order is:\n\n1. Ellison Museum\n2. Quayle Theatre\n3. Abbot Park",
            "- Ellison Museum, on the way to Abbot Park\n- Quayle Theatre\n- Abbot Park",
            "1. Abbot Park\n2. Quayle Theatre\n3. Ellison Museum\n\nSo it is Ellison Museum, Quayle Theatre, Abbot Park.",
        ],
    ),
    (NameOrder(), STOPS, ["Abbot Park", "Quayle Theatre"], ["The shortest walk is Abbot Park, then Quayle Theatre."]),
    (
        NameOrder(),
        STOPS,
        None,
        [
            "Which places do you want to see?",
            "Quayle Theatre is a theatre in the centre.",
            "Would you like to see Quayle Theatre, Abbot Park and Ellison Museum?",
        ],
    ),
]
CASES = [(form, frame, meant, reply) for form, frame, meant, replies in SAID for reply in replies]


@pytest.mark.parametrize(("form", "frame", "meant", "reply"), CASES, ids=[repr(case[3])[:60] for case in CASES])
def test_what_a_reply_means(form: Form, frame: Frame, meant: Any, reply: str) -> None:
    found = form.find(reply, frame)
    assert (None if found is None else form.read(found, frame)) == meant


@pytest.mark.parametrize(("form", "frame", "meant", "reply"), CASES, ids=[repr(case[3])[:60] for case in CASES])
def test_what_is_found_stands_in_the_reply(form: Form, frame: Frame, meant: Any, reply: str) -> None:
    found = form.find(reply, frame)
    assert found is None or found in reply


FORMS = [
    (Amount(), Frame()),
    (Metres(), Frame()),
    (Interval(), Frame()),
    (TimeOfDay(), TRAINS),
    (YesNo(), WEST),
    (NameSet(), FOUR),
    (NameOrder(), STOPS),
]
PIECES = (
    "So |The |total |is |£|12.50 |3, |km |minutes |every |hour |18:32 |7 pm |yes |No |not |north |Basil Bowl |Jade Fork |"
    "Abbot Park |Curious Ladle |all |none |= |**|(|) |? |. |! |: |\n|- |→ |answer |Would you like |closed "
)
REPLIES = st.text() | st.lists(st.sampled_from(PIECES.split("|")), max_size=25).map("".join)


@settings(deadline=None, max_examples=300)
@given(form=st.sampled_from(FORMS), reply=REPLIES)
def test_any_reply_is_read_or_refused_and_nothing_is_made_up(form: tuple[Form, Frame], reply: str) -> None:
    own, frame = form
    found = own.find(reply, frame)
    assert found is None or found in reply
    if found is not None:
        value = own.read(found, frame)
        assert value is not None, "what was found can be read"
        named = value if isinstance(value, list) else []
        assert set(named) <= set(frame.names)
    own.read(reply, frame)


#: A target of each form, and the values it is measured against: value, correct.
MEASURED: list[tuple[Form, Frame, Any, Any, float, bool]] = [
    (Amount(), Frame(), "83.84", "84.2", 1.0, True),  # both are 84 when rounded
    (Amount(), Frame(), "83.84", "83.4", 0.0, False),
    (Amount(), Frame(), "190.5", "190", 1.0, True),  # half-way goes to the even neighbour, as published
    (Amount(), Frame(), "13.5", "14", 1.0, True),
    (Metres(), Frame(), 1000.0, 1000.0, 1.0, True),
    (Metres(), Frame(), 1000.0, 1100.0, 1 / 1.2, False),
    (Metres(), Frame(), 1000.0, 500.0, 0.5, False),
    (Interval(), Frame(), 20.0, 25.0, 0.5, False),
    (Interval(), Frame(), 20.0, 22.5, 1 / 1.5, False),
    (Interval(), Frame(), 20.3, 20.0, 1 / 1.06, True),
    (TimeOfDay(), TRAINS, "18:32", "18:32", 1.0, True),
    (TimeOfDay(), TRAINS, "18:32", "18:33", 0.0, False),
    (YesNo(), WEST, "no", "yes", 0.0, False),
    (NameSet(), FOUR, TWO_OPEN, ["Curious Ladle"], 1.0, False),  # precision, as published; recall is in the details
    (NameSet(), FOUR, TWO_OPEN, list(FOUR.names), 0.5, False),
    (NameSet(), FOUR, [], [], 1.0, True),
    (NameSet(), FOUR, TWO_OPEN, [], 0.0, False),
    (NameSet(), FOUR, [], ["Jade Fork"], 0.0, False),
    (NameOrder(), STOPS, EAST_TO_WEST, EAST_TO_WEST[:2], 0.0, False),
    (NameOrder(), STOPS, EAST_TO_WEST, EAST_TO_WEST[::-1], 0.0, False),
]


@pytest.mark.parametrize(("form", "frame", "target", "value", "worth", "correct"), MEASURED)
def test_what_an_answer_is_worth(
    form: Form, frame: Frame, target: Any, value: Any, worth: float, correct: bool
) -> None:
    score = form.measure(value, target, frame)
    assert (score.value, score.correct) == (pytest.approx(worth), correct)


def test_stricter_measures_stand_in_the_details() -> None:
    details = NameSet().measure(["Curious Ladle"], TWO_OPEN, FOUR).details
    assert (details["recall"], details["f1"], details["exact"]) == (0.5, pytest.approx(2 / 3), False)
    assert Amount().measure("84", "83.84", Frame()).details["exact"] is False
    assert Metres().measure(1005.0, 1000.0, Frame()).details["error"] == 5
    assert TimeOfDay().measure("18:00", "18:32", TRAINS).details == {
        "answer": "18:00", "target": "18:32", "listed": False, "minutes_off": 32,
    }  # fmt: skip
    assert NameOrder().measure(EAST_TO_WEST[::-1], EAST_TO_WEST, STOPS).details["in_place"] == pytest.approx(1 / 3)


def test_golden_metrics() -> None:
    """The published values of 1 / (1 + error / k), and overlaps that can be done in the head."""
    assert [closeness(error, 5) for error in (0, 5, 2.5)] == [1, 0.5, pytest.approx(2 / 3)]
    assert closeness(100, 500) == pytest.approx(0.8333, abs=1e-4)
    assert closeness(-100, 500) == closeness(100, 500)
    assert [rounded(Decimal(amount)) for amount in ("0.5", "1.5", "2.5", "2.51")] == [0, 2, 2, 3]
    assert overlap("ab", "bc") == Overlap(0.5, 0.5, 0.5)
    assert overlap("", "") == Overlap(1, 1, 1)
    assert overlap("", "a") == overlap("a", "") == Overlap(0, 0, 0)
