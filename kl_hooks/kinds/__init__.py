"""Kinds of knowledge: their descriptions in `catalog`, and a module or a package for what each can
do.
"""
