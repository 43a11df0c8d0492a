"""The schema of a recommendation, as a validator."""

import json

from jsonschema import Draft202012Validator

from tests.support.local import PROJECT

SCHEMA = json.loads((PROJECT / "schemas/recommendation.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
