"""The conversation graph: one compiled LangGraph `StateGraph` for every mode, task and intervention.

    user       what is said next: by the policy, the simulated user or an intervention; or nothing, and the talk ends
    assistant  the model under test answers, its tool calls included
    judge      the reply is classified; an attempt is extracted and scored

The frozen `Scene` (setting and line) is the graph's context; models never sit in its state. Design, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, TypedDict, cast

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from simulator.calls import Caller
from simulator.conversation import Draft, Given, Reveal, Setting, Speak, State, Step, Talk, unrevealed
from simulator.errors import Failure
from simulator.interventions import Generate, Intervention
from simulator.judging import judge_reply, reviewed, scored_now, what_was_said
from simulator.record import Judgement
from simulator.user import View
from tasks.nouns import Message, Options, Reply

#: Rounds of tool calls in one turn; an assistant that still asks for more has lost itself.
TOOL_ROUNDS = 10


@dataclass(frozen=True)
class Scene:
    """The graph's context: what was asked for, and the line to the models."""

    setting: Setting
    line: Caller

    def talk(self, state: State, intervention: Intervention) -> Talk:
        """The conversation as this intervention may see it."""
        memory = state.memory.setdefault(intervention.name, {})
        ask = self.line.bound("intervention", f"{_site(state)}.{intervention.name}")
        return Talk(self.setting, state, ask, memory)


class Channels(TypedDict):
    """The graph's state: one channel, whose object the nodes change in place, since a superstep pays for each write."""

    conversation: State


async def converse(scene: Scene, state: State) -> State:
    """Runs the conversation to its end. Raises `Failure`; `state` then holds what was said until then."""
    if not state.turns:
        begin(scene, state)
    limit = 3 * (scene.setting.cap + 2)
    await graph().ainvoke({"conversation": state}, {"recursion_limit": limit}, context=scene)
    return state


def begin(scene: Scene, state: State) -> None:
    """Sets the system text, which is the same in every mode unless an intervention changes it."""
    text = scene.setting.policy.system(scene.setting)
    for intervention in scene.setting.arm.interventions:
        text = intervention.system(text, scene.talk(state, intervention))
    state.system = text


@cache
def graph() -> CompiledStateGraph[Channels, Scene, Channels, Channels]:
    """The compiled graph; the README shows its picture.

    The nodes themselves say where it goes on: an edge with a condition of its own costs a third more a superstep.
    """
    builder = StateGraph(Channels, context_schema=Scene)
    builder.add_node("user", user)
    builder.add_node("assistant", assistant)
    builder.add_node("judge", judge)
    builder.add_edge(START, "user")
    builder.add_edge("assistant", "judge")
    return builder.compile()


# -- user ----------------------------------------------------------------------------------------------------------------


async def user(state: Channels, *, runtime: Runtime[Scene]) -> Command[Literal["assistant", "__end__"]]:
    """Opens the next turn, or ends the conversation by opening none."""
    scene, conversation = runtime.context, state["conversation"]
    if not conversation.ended:
        conversation.draft = await _next(scene, conversation)
        if conversation.draft is None:
            conversation.ended = "exhausted"
    if conversation.ended and not conversation.closing:
        conversation.draft = await _last(scene, conversation)
    return Command(goto="assistant" if conversation.draft else "__end__")


async def _next(scene: Scene, state: State) -> Draft | None:
    """The turn the policy or an intervention asks for; given messages on the way enter the transcript as they are."""
    if state.extra is not None:
        text, state.extra = state.extra, None
        return _draft(scene, state, Draft("intervention", text, ()))
    given, step = _step(scene.setting, state)
    match step:
        case Speak(text, revealed, said_by):
            return _draft(scene, state, Draft(said_by, text, revealed, messages=given))
        case Reveal():
            return _draft(scene, state, await _simulated(scene, state))
    return None


def _step(setting: Setting, state: State) -> tuple[list[Message], Step | None]:
    """The policy's next step that needs an answer, and the messages given on the way to it."""
    given: list[Message] = []
    while (step := setting.policy.next(setting, state)) is not None:
        state.steps += 1
        if not isinstance(step, Given):
            return given, step
        given.append(step.message)
    return given, None


async def _simulated(scene: Scene, state: State) -> Draft:
    """The simulated user's own way to say one more shard."""
    setting = scene.setting
    said = {id: shard for shard in setting.shards for id in [shard.id]}
    view = View(
        instance=setting.instance,
        said=tuple(_as_user_knows_it(state)),
        revealed=tuple(said[id] for id in state.revealed if id in said),
        unrevealed=tuple(unrevealed(setting, state)),
    )
    spoken = await setting.arm.user.speak(view, scene.line.bound("user", _site(state)))
    revealed = () if spoken.revealed is None else (spoken.revealed,)
    return Draft(spoken.said_by, spoken.text, revealed, spoken.violations)


def _as_user_knows_it(state: State) -> list[Message]:
    """The conversation as the user lived it: its own words before any intervention, and the assistant's replies."""
    said: list[Message] = []
    for turn in state.turns:
        said.append(Message("user", turn.utterance))
        said.append(Message("assistant", turn.reply))
    return said


def _draft(scene: Scene, state: State, draft: Draft) -> Draft:
    """The user's words enter the transcript, as interventions on the user's side would have them."""
    text = draft.utterance
    if draft.said_by != "intervention":
        for intervention in scene.setting.arm.interventions:
            text = intervention.say(text, scene.talk(state, intervention))
    draft.messages.append(Message("user", text))
    return draft


async def _last(scene: Scene, state: State) -> Draft | None:
    """One last turn, if an intervention asks for it; the first that does is heard."""
    state.closing = True
    for intervention in scene.setting.arm.interventions:
        text = await intervention.at_end(scene.talk(state, intervention))
        if text is not None:
            state.ended = ""
            return _draft(scene, state, Draft("intervention", text, ()))
    return None


# -- assistant -----------------------------------------------------------------------------------------------------------


async def assistant(state: Channels, *, runtime: Runtime[Scene]) -> None:
    """The model under test answers; as long as it calls tools it gets their results and answers again."""
    scene, conversation = runtime.context, state["conversation"]
    draft, task, instance = cast(Draft, conversation.draft), scene.setting.task, scene.setting.instance
    for _ in range(TOOL_ROUNDS):
        reply = draft.reply = await _generate(scene, conversation, draft)
        draft.messages.extend(reply.messages)
        if reply.finish == "content_filter":
            raise Failure("assistant", "content_filter", reply.text)
        if not reply.tool_calls or task.tool_calls_are_answers or not scene.setting.policy.tools(scene.setting):
            break
        draft.messages.extend([await task.use_tool(instance, call) for call in reply.tool_calls])
    else:
        raise Failure("assistant", "tool_loop", f"more than {TOOL_ROUNDS} rounds of tool calls in one turn")
    for intervention in scene.setting.arm.interventions:
        await intervention.after_reply(reply, scene.talk(conversation, intervention))


async def _generate(scene: Scene, state: State, draft: Draft) -> Reply:
    """One call of the assistant, through every intervention's `context` and `generate`; notes what it saw."""
    setting = scene.setting
    options = Options(
        tools=tuple(setting.policy.tools(setting)), logprobs=any(i.logprobs for i in setting.arm.interventions)
    )
    transcript: Sequence[Message] = state.messages
    seen = transcript
    for intervention in setting.arm.interventions:
        seen = await intervention.context(seen, scene.talk(state, intervention))

    async def call(messages: Sequence[Message]) -> Reply:
        draft.context = None if list(messages) == list(transcript) else tuple(messages)
        return await scene.line.ask("assistant", _site(state), messages, options)

    for intervention in reversed(setting.arm.interventions):
        call = partial(_wrapped, intervention, call, scene.talk(state, intervention))
    return await call(seen)


async def _wrapped(intervention: Intervention, call: Generate, talk: Talk, messages: Sequence[Message]) -> Reply:
    return await intervention.generate(call, messages, talk)


# -- judge ---------------------------------------------------------------------------------------------------------------


async def judge(state: Channels, *, runtime: Runtime[Scene]) -> Command[Literal["user", "__end__"]]:
    """Judges the reply and closes the turn. A correct attempt ends the conversation."""
    scene, conversation = runtime.context, state["conversation"]
    draft = cast(Draft, conversation.draft)
    judgement = await judged(scene, conversation, draft)
    conversation.turns.append(draft.finished(judgement))
    conversation.draft = None
    if judgement.score is not None and judgement.score.correct:
        conversation.ended = "solved"
    elif conversation.closing:
        conversation.ended = "exhausted"
    elif len(conversation.turns) >= scene.setting.cap:
        conversation.ended = "turn_cap"
    else:
        await _after_judgement(scene, conversation, judgement)
    return Command(goto="__end__" if conversation.ended and conversation.closing else "user")


async def judged(scene: Scene, state: State, draft: Draft) -> Judgement:
    """Class, answer and score of the reply under way."""
    setting = scene.setting
    reply = what_was_said(draft.messages, setting.task)
    judgement = await judge_reply(
        reply,
        setting.task,
        setting.instance,
        setting.arm.judge,
        always=setting.policy.single and not setting.arm.classify_single_turn and not state.closing,
        scored=scored_now(setting.task, setting.shards, [*state.revealed, *draft.revealed]) or state.closing,
        ask=scene.line.bound("judge", _site(state)),
        scorer=scene.line.bound("scorer", _site(state)) if "scorer" in scene.line.endpoints else None,
    )
    turns = [(turn.utterance, what_was_said(turn.messages, setting.task)) for turn in state.turns[state.inherited :]]
    return reviewed(judgement, [*turns, (draft.utterance, reply)], setting.task, setting.instance)


async def _after_judgement(scene: Scene, state: State, judgement: Judgement) -> None:
    """An intervention may put in a user turn that reveals nothing; the first that does is heard."""
    for intervention in scene.setting.arm.interventions:
        text = await intervention.after_judgement(judgement, scene.talk(state, intervention))
        if text is not None:
            state.extra = text
            return


def _site(state: State) -> str:
    """The place in the conversation: the number of the turn under way."""
    return f"t{len(state.turns) + 1}"


def picture() -> str:
    """The graph as mermaid text."""
    drawable: Any = graph().get_graph()
    return str(drawable.draw_mermaid())
