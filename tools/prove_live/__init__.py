"""Proves a deployment in a real account: deploys, tests everything, removes it, and writes one report.

``make prove-live`` runs it in the account of the current credentials, ``make prove-local`` runs the same code in a
cloud on this machine.
"""
