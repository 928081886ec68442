// The suite of the Go library of live objects.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"diwan/objects"
)

var (
	servers = os.Getenv("OBJECTS_SERVERS")
	tests   []struct {
		name string
		run  func(*T)
	}
	names atomic.Int64
	// kills is how often the leader dies.
	kills = 4
)

// T is a test that runs: it fails by a panic.
type T struct {
	context.Context
	cluster *objects.Cluster
}

func test(name string, run func(*T)) {
	tests = append(tests, struct {
		name string
		run  func(*T)
	}{name, run})
}

func control(words ...string) string {
	out, err := exec.Command(os.Getenv("OBJECTS_CONTROL"), words...).Output()
	no(err)
	return strings.TrimSpace(string(out))
}

func fresh() string { return fmt.Sprintf("go-%d-%d", os.Getpid(), names.Add(1)) }

func no(err error) {
	if err != nil {
		panic(err)
	}
}

// must gives what a call gives, if it is not refused.
func must[V any](value V, err error) V {
	no(err)
	return value
}

func same(got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Sprintf("%v in place of %v", got, wanted))
	}
}

func refused(slug string, err error) *objects.Problem {
	var problem *objects.Problem
	if !errors.As(err, &problem) || problem.Slug != slug {
		panic(fmt.Sprintf("%v in place of %s", err, slug))
	}
	return problem
}

func eventually(condition func() bool) {
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			panic("it did not become true in time")
		}
	}
}

func connect(ttl time.Duration) *objects.Cluster {
	return must(objects.Connect(servers, objects.Options{TTL: ttl, Name: "suite"}))
}

func play(name string, run func(*T)) (ok bool) {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Printf("not ok %s - %s\n", name, strings.ReplaceAll(fmt.Sprint(failure), "\n", " "))
		}
	}()
	control("start")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+time.Duration(kills)*20*time.Second)
	defer cancel()
	cluster := connect(5 * time.Second)
	run(&T{ctx, cluster})
	cluster.Close()
	fmt.Printf("ok %s\n", name)
	return true
}

func main() {
	if told := os.Getenv("KILLS"); told != "" {
		kills = must(strconv.Atoi(told))
	}
	failed := false
	for _, test := range tests {
		chosen := len(os.Args) == 1
		for _, word := range os.Args[1:] {
			chosen = chosen || strings.Contains(test.name, word)
		}
		if chosen {
			failed = !play(test.name, test.run) || failed
		}
	}
	if failed {
		os.Exit(1)
	}
}
