"""Decisions as the tools' own pages show them: hand-made to the published templates."""

MADR4 = """\
---
# These are optional metadata elements. Feel free to remove any of them.
status: "superseded by ADR-0005"
date: 2024-08-01
decision-makers:
  - Ada
  - Grace
consulted: the team
informed: [everyone]
nav_order: 3
---
# Use Markdown Any Decision Records

## Context and Problem Statement

We want to record any decisions made in this project. Which format and structure should these records follow?

<!-- This is an optional element. ## Not a heading -->

## Decision Drivers

* must be text
* must be reviewed,
  in pull requests

## Considered Options

* MADR 4.0.0
* Michael Nygard's template
* Formless

## Decision Outcome

Chosen option: "MADR 4.0.0", because implicit assumptions should be made explicit.

### Consequences

* Good, because the structure is comprehensible
* Bad, because it is long

### Confirmation

A review of every pull request.

### Rollout

In spring.

## Pros and Cons of the Options

### MADR 4.0.0

* Good, because it is lean

### Formless

* Bad, because nobody reads it

## More Information

See [the page](https://adr.github.io/madr/).

## Appendix

```markdown
## A heading in code
```
"""

MADR2 = """\
# Use MADR 2

* Status: accepted
* Deciders: Ada, Grace
* Date: 2019-03-04

Technical Story: [#12](https://example.org/12)

## Context and Problem Statement

Which one?

## Considered Options

* [option 1]
* [option 2]

## Decision Outcome

Chosen option: "[option 1]".

### Positive Consequences <!-- optional -->

* Nice

### Negative Consequences <!-- optional -->

* Less nice

## Links

* Refined by [ADR-0005](0005-example.md)
"""

NYGARD = """\
# 2. Implement as shell scripts

Date: 2016-02-12

## Status

Accepted

Supersedes [1. Record architecture decisions](0001-record-architecture-decisions.md)

Amended by [7. Use bash](0007-use-bash.md)

## Context

ADRs are plain text files stored in a subdirectory of the project.

The tool needs to be portable.

## Decision

The tool is implemented as shell scripts that use standard Unix tools -- grep, sed, awk, etc.

## Consequences

The tool won't support Windows.
"""

LOG4BRAINS = """\
# Use Log4brains to manage the ADRs

- Status: accepted
- Deciders: Ada, Grace
- Date: 2020-11-02
- Tags: dev-tools, doc

## Context and Problem Statement

We want to record architectural decisions made in this project.
Which tool(s) should we use to manage these records?

## Considered Options

- [Log4brains](https://github.com/thomvaill/log4brains): architecture knowledge base
- [ADR Tools](https://github.com/npryce/adr-tools): command-line to create ADRs

## Decision Outcome

Chosen option: "Log4brains".

## Links

- Supersedes [20200101-use-nothing](20200101-use-nothing.md)
"""

SEED_A = """\
{
  "Id": "ADR-0003", "Title": "Use SQLite", "Status": "Accepted", "Date": "2026-05-01",
  "Context": "Storage is needed, for one user.", "Decision": "SQLite.",
  "Alternatives": ["PostgreSQL, which needs a server", "files"], "Consequences": ["one writer, many readers"],
  "Supersedes": ["ADR-0001"], "Tags": ["storage"], "Governs": ["src/store.py", "type:shop.store.Store"]
}
"""

SEED_B = """\
[{
  "id": "ADR-0004", "title": "Use REST", "status": "SUPERSEDED", "trigger": "CLARIFYING_QUESTION",
  "source_task_id": "TASK-1", "source_feature_id": null, "context": "c", "decision": "d", "rationale": "because",
  "alternatives_considered": ["GraphQL"], "consequences": [], "superseded_by": "ADR-0005",
  "related_adrs": ["ADR-0002"], "created_at": "2026-05-01T10:00:00+00:00", "decided_at": "2026-05-02",
  "confidence": 0.85, "tags": ["api"], "owner": {"team": "core"}
}]
"""
