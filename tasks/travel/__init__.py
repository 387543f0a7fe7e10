"""Travel reasoning alone and inside a dialogue: eight problems about a generated town and its timetable.

    town, building     what there is: stations, trains, hotels, restaurants, attractions; made from a seed
    functions, tools   what an assistant can call, and how it is run against the town
    trains, stays, meals, places   the eight problems: how an instance is drawn, and what is true of it
    forms, finding     how an answer is found in a reply, read and scored
    wording, presentations         how an instance is put to a model

Source: the design of BOULDER (arXiv 2603.20133): problems, distributions, metrics and set-ups. Town, wording and code are
our own, so that fresh instances of any number can be made that no model has seen.
"""
