"""Conversational reliability: does a model follow a rule, choose a tool and keep a booking as well in a conversation as alone?

Source: "Conversational reliability" (J. Myung 2026, arXiv 2603.01423), whose data were never published: instances, wordings and
scoring are our own. Each instance is asked in a single message and in a conversation made from the same facts, so pairs are
true pairs.

    sentences, labels, slots (dates, times, people)   what a reply says: counted, chosen, filled in
    talk                                              what goes on in a conversation: flags, chit-chat, order
    instruction, tools, entities                      the three tasks; each generates its own instances
    presentations, task                               the ways an instance is asked; what the three have in common
"""
