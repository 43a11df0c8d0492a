"""An ingestion job as Bedrock hands it to the transformation function, in moto's S3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CORPUS = "corpus-bucket"
INTERMEDIATE = "intermediate-bucket"
EVENTS = Path(__file__).resolve().parents[1] / "events"


class IngestionJob:
    """Collects documents and their parser output, and gives the event for them."""

    def __init__(self, s3: Any, *, corpus: str = CORPUS, intermediate: str = INTERMEDIATE) -> None:
        self.s3 = s3
        self._corpus = corpus
        self._intermediate = intermediate
        self.event = json.loads((EVENTS / "transformation.json").read_text())
        self.event["bucketName"] = intermediate
        template = self.event["inputFiles"].pop()
        self._template = json.dumps(template)

    def add(self, key: str, data: bytes | None, *parsed: str) -> None:
        """Add a document with its bytes (``None``: gone) and the batches that the parser wrote."""
        if data is not None:
            self.s3.put_object(Bucket=self._corpus, Key=key, Body=data)
        entry = json.loads(self._template)
        entry["originalFileLocation"]["s3_location"]["uri"] = f"s3://{self._corpus}/{key}"
        entry["contentBatches"] = []
        for number, body in enumerate(parsed):
            batch = f"aws/bedrock/{self.event['knowledgeBaseId']}/{key}_{number}.JSON"
            contents = {
                "fileContents": [
                    {"contentBody": body, "contentType": "TEXT", "contentMetadata": {"lang": "en"}}
                ]
            }
            self.s3.put_object(
                Bucket=self._intermediate, Key=batch, Body=json.dumps(contents).encode()
            )
            entry["contentBatches"].append({"key": batch})
        self.event["inputFiles"].append(entry)

    def contents(self, output_file: dict[str, Any]) -> list[dict[str, Any]]:
        """Read back the contents of an output file's batches."""
        return [
            content
            for batch in output_file["contentBatches"]
            for content in json.loads(
                self.s3.get_object(Bucket=self._intermediate, Key=batch["key"])["Body"].read()
            )["fileContents"]
        ]

    def report(self, folder: str) -> Any:
        """Read the only object below a folder of the intermediate bucket."""
        listed = self.s3.list_objects_v2(Bucket=self._intermediate, Prefix=folder)["Contents"]
        (key,) = (each["Key"] for each in listed)
        return json.loads(self.s3.get_object(Bucket=self._intermediate, Key=key)["Body"].read())
