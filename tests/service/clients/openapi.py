"""Validates the description of the service's own interface. The argument is the URL of the
service."""

import json
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

with urllib.request.urlopen(sys.argv[1] + "/openapi.json") as answer:
    OpenAPIV31SpecValidator(json.load(answer)).validate()
print("passed")
