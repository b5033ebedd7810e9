"""Uses a tracker, whose URL and token are the arguments, by the client that OpenAPI Generator makes of its document."""

import json
import sys

import tracker_client
from tracker_client.models import TicketInput

client = tracker_client.ApiClient(tracker_client.Configuration(host=sys.argv[1], access_token=sys.argv[2]))
tickets = tracker_client.ProjectsTicketsApi(client)
PROJECT = "lighthouse"

made = tickets.create_project_ticket(PROJECT, TicketInput(title="By Python", labels=["bug"]))
assert made.title == "By Python"
rule = json.dumps({"and": [{"==": [{"var": "status"}, "open"]}, {"==": [{"var": "labels.name"}, "bug"]}]})
page = tickets.list_project_tickets(
    PROJECT, filter=rule, search="python", sort=["-priority", "id"], expand=["comments"]
)
assert [ticket.title for ticket in page.results] == ["By Python"] and page.count == 1
several = tickets.create_project_tickets(PROJECT, [TicketInput(title="One"), TicketInput(title="Two")])
assert [ticket.title for ticket in several] == ["One", "Two"]
tickets.destroy_project_tickets(PROJECT, pk=[ticket.id for ticket in several])
lines = tickets.export_project_tickets_csv(PROJECT, sort=["-id"]).split("\r\n")
assert lines[0].startswith("id,title") and "By Python" in lines[1], lines[:2]
attachments = tracker_client.ProjectsTicketsAttachmentsApi(client)
attachment = attachments.create_project_ticket_attachment(PROJECT, 1, file=("readme.txt", b"Read me"))
assert (attachment.file.name, attachment.file.type, attachment.file.size) == ("readme.txt", "text/plain", 7)
assert attachments.file_project_ticket_attachment(PROJECT, 1, attachment.id) == b"Read me"
try:
    tickets.retrieve_project_ticket(PROJECT, 999999)
    raise AssertionError("no 404")
except tracker_client.ApiException as error:
    assert error.status == 404, error
