"""TypeScript, TSX and JavaScript: read with tree-sitter, linked by Node's and the compiler's
rules.
"""
