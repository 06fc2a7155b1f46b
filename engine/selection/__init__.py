"""Policies that choose the next candidate."""

from engine.selection.policies import POLICIES, Policy, policy

__all__ = ["POLICIES", "Policy", "policy"]
