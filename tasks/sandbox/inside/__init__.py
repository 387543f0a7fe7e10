"""What runs on the far side of the wall: standard library only, nothing of ours imported but by full module name.

The host sends these modules as text through a descriptor (`tasks/sandbox/runner.py`), so none of them is a file inside the
sandbox. In the order of a run: `launch` builds the walls and starts `forkserver`; that forks one `warden` an evaluation;
the warden starts `candidate`, the only process that ever executes a model's text. `kernel` holds the system calls.
"""
