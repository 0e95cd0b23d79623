"""The interview: what nobody has said yet, asked one question at a time, each answer kept as soon as it is given.

Nothing here asks a person or writes anything: questions are data, a session is a value, and both go to the caller.
"""
