"""What people write down for kl, read so that every mistake is named with its place.

A strict reader of YAML (`yaml`, `builder`, `nodes`, `typed`), the settings of this user and this repository
(`settings`), and the compiled form of a file, so that a commit never waits for a YAML parser (`compiled`). A checkout
is data: what it says may tighten what the user set, not loosen it.
"""
