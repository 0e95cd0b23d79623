"""Ratios against peers and limits, interleaved in one run. `make bench` runs all; a noisy machine
fails no build.
"""
