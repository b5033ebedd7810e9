// What the programs of all examples share, beside whose main.go this is copied.
package main

import (
	"context"
	"io"
	"net/http"
	"os"

	"generated/client"
)

// Connects to the API whose URL and token are the arguments.
func connect() (*client.APIClient, context.Context) {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Args[2])
	return client.NewAPIClient(configuration), ctx
}

func must[T any](value T, response *http.Response, err error) T {
	if err != nil {
		body, _ := io.ReadAll(response.Body)
		panic(err.Error() + ": " + string(body))
	}
	return value
}

func check(what string, holds bool) {
	if !holds {
		panic(what)
	}
}
