"""Tests of what the benches compute. What they measure is no test's business."""
