"""Models: from a name (`openai:gpt-4o-mini`, `local:smollm2`, …) to something that answers with a `tasks.nouns.Reply`.

model.py        what the engine sees (`Model`) and the registry (`make_model`)
openai.py       our own client for any OpenAI-compatible endpoint; wire.py is its JSON, connections.py its sockets
provider.py     every other provider, through LangChain
python_object.py  the user's own chat models, Runnables and LangGraph agents
local.py        llama.cpp inside the process
fake.py, synthetic.py  scripted replies; an assistant of known aptitude and unreliability
failures.py     what went wrong with a call, in one vocabulary for all of them
thinking.py, tokens.py, prices.py  what a reply holds and what it costs
"""
