"""Generated word problems: sixteen families, four tiers, three to nine shards.

Tier 1 is one addition or subtraction of small numbers (a model of 135 million parameters gets some of it right); tiers 2 to 4
take more facts of the same story, and with them more steps. `strata` of an instance names family, tier and shards. `facts`
lists the numbers in the order of the shards that carry them: fact i is in shard i + 2, and in no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tasks.families.counting import BAKERY, BUS, GARDEN, HARVEST, SHARING
from tasks.families.family import Family
from tasks.families.measures import JOURNEY, KITCHEN, READING, TANK, TRAINING
from tasks.families.money import SAVINGS, SHOPPING, SHOW, WAGES
from tasks.families.people import AGES, TRIP
from tasks.nouns import Instance

#: In the order of generation; the ones whose tier 1 comes first (every fourth) are those that small models get right.
FAMILIES: dict[str, Family] = {
    "bakery": BAKERY,
    "shopping": SHOPPING,
    "journey": JOURNEY,
    "ages": AGES,
    "trip": TRIP,
    "wages": WAGES,
    "reading": READING,
    "bus": BUS,
    "harvest": HARVEST,
    "savings": SAVINGS,
    "tank": TANK,
    "sharing": SHARING,
    "training": TRAINING,
    "show": SHOW,
    "kitchen": KITCHEN,
    "garden": GARDEN,
}
TIERS = (1, 2, 3, 4)

_ATTEMPTS = 50


def generate(n: int, seed: int) -> Iterator[Instance]:
    """`n` problems, families and tiers in turn; the first of a longer series are those of a shorter one.

    They differ as long as a family has others of the tier to offer (some have 72 of tier 1, so up to some 4,000 in all).
    """
    families, seen = list(FAMILIES.values()), set[str]()
    for index in range(n):
        round_, place = divmod(index, len(families))
        family, tier = families[place], TIERS[(place + round_) % len(TIERS)]
        for attempt in range(_ATTEMPTS):
            rng = Random(f"math {seed} {index} {attempt}")
            problem = family.problem(f"math-{seed}-{index:04d}-{family.name}", tier, rng)
            if problem.instruction not in seen:
                break
        seen.add(problem.instruction)
        yield problem
