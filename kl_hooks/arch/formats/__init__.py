"""A verdict for machines: SARIF, GitHub, GitLab, Mermaid; each made from the same findings."""
