"""The pytest plugin: records the results of test runs, and changes nothing else about them.

It is loaded in every project of its virtual environment, so the entry point (`plugin.py`) imports
only the standard library and pytest; the rest of this package, and `kl_hooks`, are imported when a
run is really recorded.

`plugin` decides whether to record, `recorder` opens and closes the record, `environment` describes
the run, `listener` writes one line per test to the spool, `outcome` gives verdicts, `imported`
compares imported modules with the content tree, `interference` finds hooks that change tests and
counts in xdist workers, `tracer` notes which functions a test starts, and `children` does so in the
processes that it starts.
"""
