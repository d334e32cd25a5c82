// Reads one query per line as JSON, and writes one answer per line. Search is your own function.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type Request struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	K     int    `json:"k"`
}

type Answer struct {
	ID   string `json:"id"`
	Hits []Hit  `json:"hits"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout) // writes each line at once
	for lines.Scan() {
		var request Request
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		answers.Encode(Answer{request.ID, Search(request.Query, request.K)})
	}
}
