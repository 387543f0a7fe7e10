"""Review: the page as a person meets it in a browser, what it saves, and how decisions and edits become history."""

from __future__ import annotations

import asyncio
import json
import re

import msgspec
import pytest

from sharding import review
from sharding.items import PENDING, SHARDED, Provenance, provenance, read_items, texts, with_provenance, write_items
from sharding.nouns import Objection
from tasks.nouns import Instance, Shard

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def item(number, status="review", *, objections=(), extra=""):
    shards = ("How many pears are there?", f"Ann has {number} pears.", f"Bob has 2 pears.{extra}")
    instance = Instance(
        id=f"pears-{number}",
        task="math",
        shards=tuple(Shard(n, text) for n, text in enumerate(shards, 1)),
        instruction=f"Ann has {number} pears. Bob has 2 pears.{extra} How many pears are there?",
        target=str(number + 2),
    )
    made = Provenance(
        status=status,
        source={"file": "pears.jsonl", "id": instance.id},
        model="openai:sharder",
        assistant="openai:solver",
        texts=shards,
        segments=("How many pears are there", f"Ann has {number} pears", f"Bob has 2 pears.{extra}"),
        objections=objections,
        verification={
            "outcome": "accepted",
            "planned": 30,
            "made": 17,
            "runs": {"full": 1, "concat": 8, "shuffle_concat": 8},
            "means": {"full": 1.0, "concat": 0.875, "shuffle_concat": 1.0},
        },
    )
    return with_provenance(instance, made)


@pytest.fixture
def folder(tmp_path):
    """One accepted item, one to be looked at, one refused with a certain fault."""
    folder = tmp_path / "out"
    folder.mkdir()
    doubt, fault = Objection("pronoun", "he", 2), Objection("lost_number", "7")
    items = [item(3, "accepted"), item(5, objections=(doubt,)), item(7, "refused", objections=(fault,))]
    write_items(folder, items)
    return folder


@pytest.fixture
def decide(exit_code):
    """Applies decisions as the page saves them; gives the exit code."""
    return lambda folder, *decisions: exit_code("shard", "apply", folder, saved(folder, *decisions))


def saved(folder, *decisions):
    """A file of decisions as the page saves them."""
    shown = {item.id: texts(item) for item in read_items(folder)}
    rows = [
        {"shown": shown.get(row["id"], ()), "at": "2030-01-01T12:00:00.000Z", "comment": "", **row} for row in decisions
    ]
    (folder / "decisions.json").write_text(json.dumps({"decisions": rows}))
    return folder / "decisions.json"


def ids(folder, name):
    return [json.loads(line)["id"] for line in (folder / name).read_text().splitlines()]


def test_decisions_move_items_and_stay_in_their_history(decide, folder):
    accepted, refused = (
        {"id": "pears-5", "decision": "accept", "comment": "fine"},
        {"id": "pears-3", "decision": "refuse"},
    )
    assert decide(folder, accepted, refused) == 0
    assert ids(folder, SHARDED) == ["pears-5"]
    assert ids(folder, PENDING) == ["pears-3", "pears-7"]
    made = {item.id: provenance(item) for item in read_items(folder)}
    (change,) = made["pears-5"].history
    assert (change.decision, change.comment, change.at) == ("accept", "fine", "2030-01-01T12:00:00.000Z")
    assert made["pears-5"].objections  # what was known then stays known
    assert made["pears-3"].status == "refused"
    # a change of mind is one more entry, the same file again is none
    assert decide(folder, {"id": "pears-3", "decision": "accept", "at": "2030-01-02T12:00:00.000Z"}) == 0
    assert decide(folder, {"id": "pears-3", "decision": "accept", "at": "2030-01-02T12:00:00.000Z"}) == 0
    again = next(one for one in read_items(folder) if one.id == "pears-3")
    assert [change.decision for change in provenance(again).history] == ["refuse", "accept"]


def test_a_reviewer_may_accept_what_the_checks_refuse(decide, folder):
    assert decide(folder, {"id": "pears-7", "decision": "accept", "comment": "the number is not needed"}) == 0
    assert "pears-7" in ids(folder, SHARDED)


def edit(folder, name, old, new):
    file = folder / name
    assert old in file.read_text()
    head, sep, tail = file.read_text().partition('"instruction"')  # the shards stand before it
    file.write_text(head.replace(old, new) + sep + tail)


def test_an_edit_in_the_file_is_linted_and_the_old_shards_are_kept(decide, folder):
    edit(folder, PENDING, "Ann has 5 pears.", "Ann has got 5 pears.")
    assert decide(folder, {"id": "pears-5", "decision": "accept", "shown": texts(item(5))}) == 0
    changed = next(one for one in read_items(folder) if one.id == "pears-5")
    made = provenance(changed)
    assert made.status == "accepted"
    assert texts(changed)[1] == "Ann has got 5 pears."
    assert (made.objections, made.segments, made.verification) == ((), (), None)
    first, second = made.history
    assert first.before == texts(item(5))
    assert first.verification["made"] == 17
    assert second.decision == "accept"
    assert changed.variants["2"][1].text == "Ann has got 5 pears. Bob has 2 pears."


def test_an_edit_that_loses_a_number_is_not_accepted(decide, folder, capsys):
    edit(folder, PENDING, "Ann has 5 pears.", "Ann has some pears.")
    assert decide(folder, {"id": "pears-5", "decision": "accept"}) == 1
    assert "lost_number: 5" in capsys.readouterr().err
    assert "pears-5" in ids(folder, PENDING)


def test_an_accepted_item_that_is_edited_waits_for_a_decision(exit_code, folder):
    edit(folder, SHARDED, "Ann has 3 pears.", "Ann owns 3 pears.")
    assert exit_code("shard", "apply", folder) == 0
    assert ids(folder, SHARDED) == []
    assert provenance(read_items(folder)[0]).status == "review"


def test_a_decision_about_other_shards_is_named_and_not_followed(decide, folder, capsys):
    stale = {"id": "pears-5", "decision": "accept", "shown": ["How many?", "Five.", "Two."]}
    assert decide(folder, stale, {"id": "plums-1", "decision": "accept"}, {"id": "pears-3", "decision": "refuse"}) == 1
    told = capsys.readouterr().err
    assert "pears-5" in told
    assert "plums-1" in told
    assert ids(folder, SHARDED) == []


@pytest.mark.parametrize(
    "content", ["", "[]", '{"decisions": [{"id": 1}]}', '{"decisions": [{"id": "a", "decision": "maybe"}]}']
)
def test_a_file_that_is_no_decisions_is_refused(exit_code, folder, tmp_path, content, capsys):
    (tmp_path / "bad.json").write_text(content)
    assert exit_code("shard", "apply", folder, tmp_path / "bad.json") == 2
    assert "bad.json" in capsys.readouterr().err


def test_a_reviewed_item_is_not_sharded_anew(exit_code, decide, folder, tmp_path):
    decide(folder, {"id": "pears-5", "decision": "refuse", "comment": "no"})
    rows = [{"id": "pears-5", "task": "math", "instruction": item(5).instruction, "target": "7"}]
    (tmp_path / "pears.jsonl").write_text("\n".join(map(json.dumps, rows)))
    before = {one.id: one for one in read_items(folder)}
    assert exit_code("shard", tmp_path / "pears.jsonl", "--model", "none", "--out", folder, "--quiet") == 0
    assert {one.id: one for one in read_items(folder)} == before


def test_no_text_can_become_html():
    page = review.page([item(3, extra=" " + HOSTILE)], HOSTILE)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["items"][0]["shards"][2].endswith(HOSTILE)
    assert page.count("<script") == 2
    assert "onerror=" not in page.replace(data, "")
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "default-src 'none'" in page


# -- in a browser -------------------------------------------------------------------------------------------------------

CARD = "document.getElementById('item-{}')"


@pytest.mark.browser
async def test_a_person_reviews_in_a_browser(exit_code, folder, browser, tmp_path):
    items = read_items(folder)
    hostile = with_provenance(
        msgspec.structs.replace(item(9, extra=" " + HOSTILE), id="pears-9"), provenance(item(9, extra=" " + HOSTILE))
    )
    write_items(folder, [*items, hostile])
    assert exit_code("shard", "review", folder) == 0
    async with browser() as page:
        await page.open(folder / "review.html", tmp_path)
        assert await page.value("document.querySelectorAll('article').length") == 4
        assert await page.value("document.title") == "shardtalk: out"  # nothing hostile ran
        assert await page.value("document.querySelectorAll('img').length") == 0
        shown = await page.value(f"{CARD.format('pears-5')}.innerText")
        for said in ("Ann has 5 pears.", "pronoun · shard 2 · he", "concat 88 % of 8", "accepted after 17 of 30 runs"):
            assert said in shown
        # each segment has the colour of its shard
        colours = "[...{}.querySelectorAll('{}')].map(e => e.style.background)"
        marked = await page.value(colours.format(CARD.format("pears-5"), "mark"))
        listed = await page.value(colours.format(CARD.format("pears-5"), "li span"))
        assert len(set(listed)) == 3
        assert sorted(marked) == sorted(listed)
        # only what is to be reviewed
        await page.click("document.querySelector('#filters [name=review]')")
        visible = "[...document.querySelectorAll('article')].filter(e => !e.hidden).map(e => e.id)"
        assert await page.value(visible) == ["item-pears-5", "item-pears-9"]
        # accept with a comment, refuse, take a refusal back
        await page.click(CARD.format("pears-5") + ".querySelector('textarea')")
        await page.type('"quite" right <b>✓</b>')
        await page.click(CARD.format("pears-5") + ".querySelector('[name=accept]')")
        await page.click("document.querySelector('#filters [name=all]')")
        await page.click(CARD.format("pears-3") + ".querySelector('[name=refuse]')")
        await page.click(CARD.format("pears-7") + ".querySelector('[name=refuse]')")
        await page.click(CARD.format("pears-7") + ".querySelector('[name=refuse]')")
        assert await page.value("document.getElementById('count').textContent") == "4 items, 2 decided"
        # a reload keeps them; the browser stores them a moment after the click, so a reload may come too soon
        counted = ""
        for _ in range(100):
            await asyncio.sleep(0.1)
            await page.reload()
            await page.until("/items/.test(document.getElementById('count')?.textContent)")
            counted = await page.value("document.getElementById('count').textContent")
            if counted == "4 items, 2 decided":
                break
        assert counted == "4 items, 2 decided"
        await page.click("document.getElementById('save')")
        file = tmp_path / "decisions.json"
        for _ in range(200):
            if file.exists():
                break
            await asyncio.sleep(0.05)
        assert not page.problems
    decisions = review.read_decisions(file)
    assert {one.id: (one.decision, one.comment) for one in decisions} == {
        "pears-3": ("refuse", ""),
        "pears-5": ("accept", '"quite" right <b>✓</b>'),
    }
    assert exit_code("shard", "apply", folder, file) == 0
    assert ids(folder, SHARDED) == ["pears-5"]
