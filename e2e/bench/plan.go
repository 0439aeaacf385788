package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// planned is a node of a plan that ran, as auto_explain logs it.
type planned struct {
	Node      string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Rows      float64 `json:"Actual Rows"` // of each loop
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Plans     []planned
}

// read is how many rows of tables the plan looked at, those that it passed over among them. What an index leads to that is
// no longer there is no row: such entries come and go by the clock.
func (p *planned) read() (rows float64) {
	if p.Relation != "" && strings.HasSuffix(p.Node, "Scan") {
		rows = (p.Rows + p.Filtered + p.Rechecked) * p.Loops
	}
	for i := range p.Plans {
		rows += p.Plans[i].read()
	}
	return rows
}

var ranEntry = regexp.MustCompile(`\[([0-9]+)\] \S* LOG:  duration: [0-9.]+ ms  (execute|statement|plan)\b[^:]*:\s*([\s\S]*)`)

// ran counts the statements that sessions ran, and the rows that those read: also in what the server ran for them, as the
// looks that references take.
func ran(log string, sessions map[string]bool) (statements, read int, err error) {
	for _, e := range logEntries(log) {
		m := ranEntry.FindStringSubmatch(e)
		switch {
		case m == nil || !sessions[m[1]] || m[3] == "-- ping": // the pool asks whether an idle session is there
		case m[2] == "plan":
			var p struct{ Plan planned }
			if err := json.Unmarshal([]byte(m[3]), &p); err != nil {
				return 0, 0, fmt.Errorf("read a plan in the server's log: %w", err)
			}
			read += int(p.Plan.read())
		default:
			statements++
		}
	}
	return statements, read, nil
}
