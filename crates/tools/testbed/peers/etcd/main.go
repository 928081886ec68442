// One program that is an etcd server (`server ARGUMENTS..`) or loads a cluster of them as the lab loads servers that speak
// ZooKeeper's protocol (`drive`).
//
// The task comes as one line of JSON on standard input. Before and after each thing that is measured a line
// {"edge":"begin","phase":..} is written and an empty line waited for, so that the caller reads the servers'
// meters exactly there; what was seen is the last line. Values carry the number of their key and of their write; reads are
// compared with what was acknowledged.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// task says what to do; crates/tools/lab/src/task/mod.rs says what each part means.
type task struct {
	Endpoints      []string `json:"endpoints"`
	Kind           string   `json:"kind"`
	Clients        int      `json:"clients"`
	Outstanding    int      `json:"outstanding"`
	WritesPerMille int      `json:"writes_per_mille"`
	Keys           int      `json:"keys"`
	From           int      `json:"from"`
	ValueBytes     int      `json:"value_bytes"`
	PerSecond      float64  `json:"per_second"`
	Count          int      `json:"count"`
	Steps          []string `json:"steps"`
	WarmUpMs       int      `json:"warm_up_ms"`
	MeasuredMs     int      `json:"measured_ms"`
	PatienceMs     int      `json:"patience_ms"`
	Seed           int64    `json:"seed"`
}

// outcome says what was seen.
type outcome struct {
	Phases   []phase      `json:"phases"`
	Reads    uint64       `json:"reads"`
	Writes   uint64       `json:"writes"`
	Events   uint64       `json:"events"`
	Barriers uint64       `json:"barriers"`
	Wrong    []string     `json:"wrong"`
	Lost     uint64       `json:"lost"`
	Timeline [][3]float64 `json:"timeline"`
}

type phase struct {
	Name       string     `json:"name"`
	Operations uint64     `json:"operations"`
	Errors     uint64     `json:"errors"`
	ElapsedS   float64    `json:"elapsed_s"`
	LatencyUs  [][2]int64 `json:"latency_us"`
}

var input = bufio.NewReader(os.Stdin)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		etcdmain.Main(append([]string{"etcd"}, os.Args[2:]...))
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no task came: %w", err)
	}
	var todo task
	if err := json.Unmarshal(line, &todo); err != nil {
		return fmt.Errorf("the task cannot be read: %w", err)
	}
	kinds := map[string]func(task) (outcome, error){
		"prepare": prepare, "mixed": mixed, "own": own, "barriers": barriers, "watches": watches, "timeline": timeline,
		"lock_pair": lockPair, "hand_off": handOff, "double_barrier": doubleBarrier, "increment": increment,
	}
	work, known := kinds[todo.Kind]
	if !known {
		return fmt.Errorf("there is no task %q", todo.Kind)
	}
	seen, err := work(todo)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// edge tells that measuring begins or ends, and waits until the meters are read.
func edge(which, phase string) error {
	fmt.Printf("{\"edge\":%q,\"phase\":%q}\n", which, phase)
	_, err := input.ReadString('\n')
	return err
}

// wrongs gathers what went against what was to be.
type wrongs struct {
	lock sync.Mutex
	told []string
}

const toldMax = 5

func (w *wrongs) tell(format string, values ...any) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.told) < toldMax {
		w.told = append(w.told, fmt.Sprintf(format, values...))
	}
}

func histogram() *hdr.Histogram { return hdr.New(1, 600_000_000, 3) }

// merged gives each value and how often it was seen.
func merged(histograms []*hdr.Histogram) [][2]int64 {
	whole := histogram()
	for _, one := range histograms {
		whole.Merge(one)
	}
	var counts [][2]int64
	for _, bar := range whole.Distribution() {
		if bar.Count > 0 {
			counts = append(counts, [2]int64{bar.To, bar.Count})
		}
	}
	return counts
}
