"""Files that people write for kl, read so that every mistake is named with its place.

A strict reader of YAML (`yaml`), the settings of this user and this repository (`settings`), the
kinds of a repository (`kinds_file`), and the compiled form of a file, so that a commit never waits
for a YAML parser (`compile_cache`). A checkout is data: it may tighten what the user set, not
loosen it.
"""
