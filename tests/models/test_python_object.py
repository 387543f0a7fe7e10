"""A user's own objects: chat models, Runnables, LangGraph agents and functions, given as `python:module:object`."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pytest

from simulator.errors import CallFailed, ModelError
from simulator.models.model import make_model
from tasks.errors import UnknownName
from tasks.nouns import Message, Options, ToolCall

ASKED = [Message("system", "Be brief."), Message("user", "one")]
LATER = [*ASKED, Message("assistant", "two"), Message("user", "three")]

MINE = """
from typing import Annotated, Any
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.language_models import BaseChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph

SEEN = []

class Chat(BaseChatModel):
    temperature: float | None = None
    max_output_tokens: int | None = None

    @property
    def _llm_type(self):
        return "mine"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        SEEN.append((self.temperature, self.max_output_tokens, [m.type for m in messages], kwargs))
        usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12, "input_token_details": {"cache_read": 4}}
        message = AIMessage([{"type": "text", "text": "hello"}], usage_metadata=usage,
                            response_metadata={"stop_reason": "max_tokens"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=tools)

chat = Chat()
chain = ChatPromptTemplate.from_messages([("system", "Rhyme."), ("placeholder", "{messages}")]) | chat
words = RunnableLambda(lambda messages: f"{len(messages)} messages")
number = RunnableLambda(lambda messages: 42)

def act(state: MessagesState, config: RunnableConfig):
    SEEN.append((len(state["messages"]), config["configurable"].get("thread_id"), dict(config.get("metadata", {}))))
    call = {"name": "look", "args": {"n": 1}, "id": "c1"}
    return {"messages": [AIMessage("Looking.", tool_calls=[call]), ToolMessage("seen", tool_call_id="c1"),
                         AIMessage("It is 42.")]}

def graph(node, **kwargs):
    builder = StateGraph(MessagesState)
    builder.add_node("act", node)
    builder.add_edge(START, "act")
    builder.add_edge("act", END)
    return builder.compile(**kwargs)

agent = graph(act)
remembering = graph(act, checkpointer=InMemorySaver())
silent = graph(lambda state: {"messages": []})
broken = graph(lambda state: 1 / 0)

def function(messages, options):
    return f"{messages[-1].content} at {options.temperature}"

async def slow(messages, options):
    return AIMessage("<think>hm</think>done")

class Nest:
    inner = chat

nothing = 3
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module of the user's in the current folder, which is not on the path."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "my_models.py").write_text(textwrap.dedent(MINE))
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.setattr(sys, "path", list(sys.path))
    make_model("python:my_models:chat")
    yield sys.modules["my_models"]
    sys.modules.pop("my_models")
    patch.undo()


@pytest.fixture
def seen(mine: Any) -> list[Any]:
    mine.SEEN.clear()
    return mine.SEEN


async def test_a_chat_model_gets_the_options_it_has_fields_for(seen) -> None:
    reply = await make_model("python:my_models:chat").call(LATER, Options(temperature=0.25, max_tokens=9, seed=1))
    assert seen[0][:3] == (0.25, 9, ["system", "human", "ai", "human"])
    assert (reply.text, reply.finish, reply.model, reply.cost) == ("hello", "length", "python:my_models:chat", None)
    assert (reply.usage.input, reply.usage.output, reply.usage.cached, reply.usage.estimated) == (9, 3, 4, False)


async def test_a_chat_model_keeps_its_own_configuration(seen, mine) -> None:
    await make_model("python:my_models:chat").call(ASKED, Options(temperature=0.25))
    assert mine.chat.temperature is None


async def test_a_chat_model_is_offered_tools(seen) -> None:
    tool = {"name": "look", "description": "", "parameters": {}}
    await make_model("python:my_models:chat").call(ASKED, Options(tools=(tool,)))
    assert seen[0][3]["tools"] == [tool]


async def test_a_nested_object_and_a_price(mine) -> None:
    model = make_model("python:my_models:Nest.inner", prices={"python:my_models:Nest.inner": (1.0, 2.0)})
    assert (await model.call(ASKED, Options())).cost == pytest.approx(15e-6)


@pytest.mark.parametrize(
    ("name", "text"),
    [("chain", "hello"), ("words", "2 messages"), ("function", "one at 0.5"), ("slow", "done")],
)
async def test_runnables_and_functions(mine, name, text) -> None:
    reply = await make_model(f"python:my_models:{name}").call(ASKED, Options(temperature=0.5))
    assert reply.text == text


async def test_a_chain_puts_the_conversation_where_its_prompt_wants_it(seen) -> None:
    await make_model("python:my_models:chain").call(LATER, Options())
    assert seen[0][2] == ["system", "system", "human", "ai", "human"]


@pytest.mark.parametrize("name", ["agent", "remembering"])
async def test_an_agent_answers_with_all_it_added(seen, name) -> None:
    model = make_model(f"python:my_models:{name}")
    reply = await model.call(ASKED, Options())
    assert reply.messages == (
        Message("assistant", "Looking.", (ToolCall("c1", "look", '{"n":1}'),)),
        Message("tool", "seen", tool_call_id="c1"),
        Message("assistant", "It is 42."),
    )
    assert reply.text == "Looking.\nIt is 42."
    assert reply.finish == "stop"
    assert reply.usage.estimated
    await model.call([*ASKED, *reply.messages, Message("user", "more")], Options())
    assert [count for count, *_ in seen] == [2, 6]  # nothing of the first call is left in a checkpoint
    threads = [thread for _, thread, _ in seen]
    assert len(set(threads)) == 2


async def test_no_context_of_ours_reaches_an_agent(seen, mine) -> None:
    """The engine calls models inside a graph of its own; its config must not show up in the agent's."""
    model = make_model("python:my_models:agent")

    async def outer(state):
        await model.call(ASKED, Options())
        return {"messages": []}

    ours = mine.graph(outer)
    await ours.ainvoke({"messages": []}, {"metadata": {"ours": "yes"}, "configurable": {"thread_id": "ours"}})
    ((_, thread, metadata),) = seen
    assert thread != "ours"
    assert "ours" not in metadata


async def test_an_agent_that_adds_nothing(mine) -> None:
    reply = await make_model("python:my_models:silent").call(ASKED, Options())
    assert (reply.text, reply.finish, len(reply.messages)) == ("", "empty", 1)


async def test_failures_of_the_users_code_are_failed_calls(mine) -> None:
    with pytest.raises(CallFailed, match="ZeroDivisionError") as failed:
        await make_model("python:my_models:broken").call(ASKED, Options())
    assert (failed.value.cause, failed.value.retry) == ("unexpected", False)
    with pytest.raises(CallFailed, match="int"):
        await make_model("python:my_models:number").call(ASKED, Options())


async def test_an_agent_takes_no_tools_of_ours(mine) -> None:
    with pytest.raises(CallFailed, match="own tools") as failed:
        await make_model("python:my_models:agent").call(ASKED, Options(tools=({"name": "x"},)))
    assert failed.value.stop_run


@pytest.mark.parametrize("spec", ["python:json", "python::x", "python:no_such_module:x"])
def test_paths_that_lead_nowhere(spec) -> None:
    with pytest.raises(ModelError, match="module"):
        make_model(spec)


def test_an_object_that_does_not_exist_names_the_close_ones(mine) -> None:
    with pytest.raises(UnknownName, match="did you mean"):
        make_model("python:my_models:agnt")


@pytest.mark.parametrize("name", ["nothing", "Nest", "Chat"])
def test_what_cannot_answer(mine, name) -> None:
    with pytest.raises(ModelError, match="nothing that answers"):
        make_model(f"python:my_models:{name}")


def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_module.py").write_text("raise ValueError('at import')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="ValueError: at import"):
        make_model("python:broken_module:x")
