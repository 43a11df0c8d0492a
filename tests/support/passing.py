"""Time that passes only where somebody sleeps."""

from __future__ import annotations

from lambdas.custom_resource import Clock


class Time:
    """Seconds that pass by sleeping."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def clock(self, end=780):
        return Clock(lambda: self.now, self.sleep, end)
