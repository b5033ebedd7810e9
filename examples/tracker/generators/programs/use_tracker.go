// Uses a tracker, whose URL and token are the arguments, by the client that OpenAPI Generator makes of its document.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"generated/client"
)

func main() {
	api, ctx := connect()
	tickets := api.ProjectsTicketsAPI
	project := "lighthouse"

	input := client.NewTicketInput("By Go")
	input.Labels = []string{"bug"}
	made := must(tickets.CreateProjectTicket(ctx, project).TicketInput(*input).Execute())
	check("created", made.Title == "By Go")
	rule := `{"and":[{"==":[{"var":"status"},"open"]},{"==":[{"var":"labels.name"},"bug"]}]}`
	list := tickets.ListProjectTickets(ctx, project).Filter(rule).Search("go")
	page := must(list.Sort([]string{"-priority", "id"}).Expand([]string{"comments"}).Execute())
	check("listed", page.Count > 0 && page.Results[0].Status == "open")
	inputs := []client.TicketInput{*client.NewTicketInput("One"), *client.NewTicketInput("Two")}
	several := must(tickets.CreateProjectTickets(ctx, project).TicketInput(inputs).Execute())
	check("several", len(several) == 2 && several[1].Title == "Two")
	response, err := tickets.DestroyProjectTickets(ctx, project).Pk([]int32{several[0].Id, several[1].Id}).Execute()
	check("several are gone", err == nil && response.StatusCode == 204)
	csv := must(tickets.ExportProjectTicketsCsv(ctx, project).Sort([]string{"-id"}).Execute())
	check("exported", strings.Contains(strings.Split(csv, "\r\n")[1], "By Go"))

	path := filepath.Join(os.TempDir(), "tracker-readme.txt")
	check("written", os.WriteFile(path, []byte("Read me"), 0o600) == nil)
	defer os.Remove(path)
	file, err := os.Open(path)
	check("opened", err == nil)
	attachments := api.ProjectsTicketsAttachmentsAPI
	attachment := must(attachments.CreateProjectTicketAttachment(ctx, project, 1).File(file).Execute())
	check("uploaded", attachment.File.Type == "text/plain" && attachment.File.Size == 7)
	_, response, err = tickets.RetrieveProjectTicket(ctx, project, 999999).Execute()
	check("absent", err != nil && response.StatusCode == 404)
}
