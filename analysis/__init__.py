"""Frames, measures, intervals, comparisons, failure modes, figures, report."""
