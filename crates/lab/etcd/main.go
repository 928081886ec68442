// Loads an etcd cluster as the lab loads servers that speak ZooKeeper's protocol, and says what it saw.
//
// The task comes as one JSON object on standard input. A line {"edge":"begin"} is written when measuring begins and one
// {"edge":"end"} when it ends, so that whoever waits can look at the servers' processor time; the outcome is the last line.
// Values carry the number of their key and of their write; reads are compared with what was acknowledged.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// task says what to do.
type task struct {
	Endpoints []string `json:"endpoints"`
	// prepare, mixed, sequence
	Kind           string  `json:"kind"`
	Clients        int     `json:"clients"`
	Outstanding    int     `json:"outstanding"`
	WritesPerMille int     `json:"writes_per_mille"`
	Keys           int     `json:"keys"`
	ValueBytes     int     `json:"value_bytes"`
	PerSecond      float64 `json:"per_second"`
	Count          int     `json:"count"`
	WarmUpMs       int     `json:"warm_up_ms"`
	MeasuredMs     int     `json:"measured_ms"`
	Seed           int64   `json:"seed"`
	// Reads ask a majority, and not the member that they reach alone.
	Linearizable bool `json:"linearizable"`
}

// outcome says what was seen.
type outcome struct {
	Operations uint64      `json:"operations"`
	Errors     uint64      `json:"errors"`
	ElapsedS   float64     `json:"elapsed_s"`
	LatencyUs  [][2]int64  `json:"latency_us"`
	Reads      uint64      `json:"reads_checked"`
	Writes     uint64      `json:"writes_checked"`
	Wrong      []string    `json:"wrong"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var todo task
	if err := json.NewDecoder(os.Stdin).Decode(&todo); err != nil {
		return fmt.Errorf("the task cannot be read: %w", err)
	}
	clients, err := connect(todo)
	if err != nil {
		return err
	}
	defer closeAll(clients)
	var seen outcome
	switch todo.Kind {
	case "prepare":
		err = prepare(clients, todo)
	case "mixed":
		seen, err = mixed(clients, todo)
	case "sequence":
		seen, err = sequence(clients, todo)
	default:
		err = fmt.Errorf("nobody knows the task %q", todo.Kind)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func edge(which string) {
	fmt.Printf("{\"edge\":%q}\n", which)
}
