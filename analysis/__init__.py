"""Frames, measures, intervals, comparisons, failure modes, figures, report."""

from analysis.frames import conversations, turns

__all__ = ["conversations", "turns"]
