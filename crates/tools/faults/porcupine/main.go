// Command porcupine asks a checker that knows nothing of this project whether histories of real clients are
// linearizable: whether one order of all calls, each at one moment between its beginning and its end, explains every
// answer. Histories are those of crates/tools/faults/src/history.rs; each node is judged alone.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"
)

// How long one history may take to judge.
const patience = 2 * time.Minute

// call is a line of a history.
type call struct {
	Client  int
	Node    int
	Kind    string
	Over    int
	Data    string
	Outcome string
	Version int
	Began   int64  `json:"began_ns"`
	Ended   *int64 `json:"ended_ns"`
}

// node is what a node holds.
type node struct {
	version int
	data    string
}

// The model of a node of ZooKeeper: setData over a version, and getData behind a sync. From each state it gives those that
// the answer allows.
var model = porcupine.NondeterministicModel{
	Init: func() []interface{} { return []interface{}{node{data: "0"}} },
	Step: func(state, input, output interface{}) []interface{} {
		before, call := state.(node), input.(call)
		if call.Kind == "read" {
			return only(before == node{call.Version, call.Data}, before)
		}
		fits := call.Over == -1 || call.Over == before.version
		after := node{before.version + 1, call.Data}
		switch call.Outcome {
		case "done":
			return only(fits && call.Version == after.version, after)
		case "refused":
			return only(!fits, before)
		default: // It took effect now, or never will.
			return append(only(fits, after), before)
		}
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

func only(allowed bool, state node) []interface{} {
	if allowed {
		return []interface{}{state}
	}
	return nil
}

// judge says whether the calls are linearizable, and how many there are.
func judge(calls []call) (porcupine.CheckResult, int) {
	byNode := map[int][]porcupine.Operation{}
	for _, call := range calls {
		if call.Outcome == "unknown" && call.Kind == "read" {
			continue // It says nothing.
		}
		ended := int64(math.MaxInt64)
		if call.Ended != nil {
			ended = *call.Ended
		}
		operation := porcupine.Operation{ClientId: call.Client, Input: call, Call: call.Began, Return: ended}
		byNode[call.Node] = append(byNode[call.Node], operation)
	}
	result := porcupine.Ok
	for _, operations := range byNode {
		if one := porcupine.CheckOperationsTimeout(model.ToModel(), operations, patience); one != porcupine.Ok {
			result = one
		}
	}
	return result, len(calls)
}

func read(path string) ([]call, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var calls []call
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one call
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		calls = append(calls, one)
	}
	return calls, lines.Err()
}

func main() {
	passed, failed := 0, 0
	for _, path := range os.Args[1:] {
		name := filepath.Base(path)
		calls, err := read(path)
		if err != nil {
			failed++
			fmt.Printf("not ok %s - %v\n", name, err)
			continue
		}
		switch result, count := judge(calls); {
		case count == 0:
			failed++
			fmt.Printf("not ok %s - there are no calls in it\n", name)
		case result == porcupine.Ok:
			passed++
			fmt.Printf("ok %s (%d calls are linearizable)\n", name, count)
		default:
			failed++
			fmt.Printf("not ok %s - %d calls: %s\n", name, count, result)
		}
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
