"""Holds the imports of the source against `.kl/architecture.yaml`: layers, and who may depend on whom.

Reading the manifest (`manifest`, `kept`), judging (`check`, `indirect`, `wayout`), proposing a first manifest from
today's imports (`propose`, `levels`, `draft`) and rendering a verdict (`render`, `formats`) are pure; `source`
fetches the content, `survey` the imports in it (kept `ready` from one check to the next), and `run` is one check
from end to end. What people do about a verdict stands in folders of its own: `baseline`, `allowing`, `fixing`,
`looking`; what other tools say in `contracts` and `foreign`.
"""
