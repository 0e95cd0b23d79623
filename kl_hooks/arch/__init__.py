"""The architecture check: imports of the source are checked against `.kl/architecture.yaml`.

The flow of `kl arch check`: `content` reads the files and the rules, `manifest` the compiled
manifest, `import_survey` the imports, from its cache where it can, `layer_check` judges them with
`suggestions`, `baseline` removes what is accepted, `report` and `formats` print the verdict;
`check` runs it all. Parsing, judging, proposing and rendering are pure.
"""
