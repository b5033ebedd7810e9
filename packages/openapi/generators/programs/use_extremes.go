// Sends the cases to the URL that is the argument, by the client that OpenAPI Generator makes, and reports what it reads.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"generated/client"
)

func report(name string, read any) {
	text, err := json.Marshal(read)
	check("written as JSON", err == nil)
	response, err := http.Post(os.Args[1]+"/seen/go/"+name, "text/plain", bytes.NewReader(text))
	check("reported", err == nil && response.StatusCode == 200)
	response.Body.Close()
}

func main() {
	api, ctx := connect()
	extremes := api.ExtremesAPI
	response, err := http.Get(os.Args[1] + "/cases")
	check("asked for the cases", err == nil)
	var cases []string
	check("read the cases", json.NewDecoder(response.Body).Decode(&cases) == nil)

	for index, text := range cases {
		var input client.ExtremeInput
		if err := json.Unmarshal([]byte(text), &input); err != nil {
			panic(err.Error() + ": " + text)
		}
		made := must(extremes.CreateExtreme(ctx).ExtremeInput(input).Execute())
		report(fmt.Sprint(index), must(extremes.RetrieveExtreme(ctx, made.Id).Execute()))
	}
	report("page", must(extremes.ListExtremes(ctx).Page(2147483647).PageSize(2147483647).Execute()))
}
