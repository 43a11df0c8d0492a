"""Proves a deployment in a real account: deploys, tries everything, removes it, and writes one report.

``make prove-live`` runs it in the account whose credentials are set, ``make prove-local`` the same code
in the cloud of this machine.
"""
