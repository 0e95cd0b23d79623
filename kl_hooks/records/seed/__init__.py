"""Seeds: records made from what a project already says of itself, and again when that changes; never twice.

A seed is known by its name (`entity_id`) and by the hash of what it was read from. What a person changed in a seeded
record, or deleted, is not changed back.
"""
