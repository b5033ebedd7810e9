"""Sends the cases to the URL that is the argument, by the client that OpenAPI Generator makes, and reports what it reads."""

import json
import sys
import urllib.request

import extremes_client
from extremes_client.models import ExtremeInput

BASE = sys.argv[1]
client = extremes_client.ApiClient(extremes_client.Configuration(host=BASE))
extremes = extremes_client.ExtremesApi(client)


def report(name: str, text: str) -> None:
    headers = {"content-type": "text/plain"}
    urllib.request.urlopen(
        urllib.request.Request(f"{BASE}/seen/python/{name}", data=text.encode(), headers=headers)
    ).close()


with urllib.request.urlopen(f"{BASE}/cases") as response:
    cases = json.load(response)
for index, text in enumerate(cases):
    made = extremes.create_extreme(ExtremeInput.from_json(text))
    report(str(index), extremes.retrieve_extreme(made.id).to_json())
report("page", extremes.list_extremes(page=2_147_483_647, page_size=2_147_483_647).to_json())
