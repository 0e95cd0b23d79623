"""The pytest plugin: a guest in pytest that leaves a record of what the tests said, and otherwise changes nothing.

It is loaded in every project of its virtual environment, so the door (`plugin.py`) imports only the standard library
and pytest; the rest of this package, and `kl_hooks`, are imported when a run is really recorded.

The way of a run: `activation` decides, `opening` writes what is known before, `listener` hears every report, `verdict`
folds them to one word per test, `journal` writes that word to the spool at once, `account` says what the run as a
whole is worth, `summary` tells the person, `recorder` holds these together, `worker` counts in the xdist workers.
"""
