package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	waitMax = 30 * time.Second
	testMax = 90 * time.Second
)

var connect = envOr("KAFKA_CONNECT", "127.0.0.1:9092")

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// A failure or a skip travels as a panic from where it is found to the runner.
type failure string
type skip string

// A group has the tests of one feature, which run at the same time unless they drive the broker.
type group struct {
	name  string
	alone bool
	tests []test
}

type test struct {
	name string
	body func(*T)
}

// T is one test's surroundings: a context that ends with it, and what to close after.
type T struct {
	ctx   context.Context
	name  string
	lock  sync.Mutex
	close []func()
}

func fail(format string, arguments ...any) { panic(failure(fmt.Sprintf(format, arguments...))) }

func check(condition bool, format string, arguments ...any) {
	if !condition {
		fail(format, arguments...)
	}
}

func equal(actual, expected any, what ...any) {
	if !reflect.DeepEqual(actual, expected) {
		fail("%s %.300s, expected %.300s", fmt.Sprint(what...), fmt.Sprintf("%+v", actual), fmt.Sprintf("%+v", expected))
	}
}

func ok(err error) {
	if err != nil {
		fail("failed: %v", err)
	}
}

func must[V any](value V, err error) V {
	ok(err)
	return value
}

// await waits until the condition holds; an error counts as not yet.
func await(what string, condition func() bool) {
	deadline := time.Now().Add(waitMax)
	for !condition() {
		check(time.Now().Before(deadline), "waited %v for %s", waitMax, what)
		time.Sleep(20 * time.Millisecond)
	}
}

func (t *T) closing(close func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.close = append(t.close, close)
}

var names atomic.Int64

// fresh is a name that nothing else has.
func (t *T) fresh(what string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' {
			return '-'
		}
		return r
	}, t.name)
	return fmt.Sprintf("%s-%s-%d-%d", what, name, names.Add(1), time.Now().UnixNano()%100000)
}

// client is a franz-go client of the broker, closed when the test ends.
func (t *T) client(options ...kgo.Opt) *kgo.Client {
	client := must(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(connect), kgo.FetchMaxWait(time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond })}, options...)...))
	t.closing(client.Close)
	return client
}

func (t *T) admin() *kadm.Client { return kadm.NewClient(t.client()) }

// topic makes a topic, and returns when the broker serves it.
func (t *T) topic(partitions int32, settings ...string) string {
	name, configs := t.fresh("topic"), map[string]*string{}
	for place := 0; place < len(settings); place += 2 {
		configs[settings[place]] = kadm.StringPtr(settings[place+1])
	}
	admin := t.admin()
	must(admin.CreateTopic(t.ctx, partitions, 1, configs, name))
	await("topic "+name, func() bool {
		ends, err := admin.ListEndOffsets(t.ctx, name)
		return err == nil && ends.Error() == nil && len(ends[name]) == int(partitions)
	})
	return name
}

// send produces numbered values and returns the records with their places.
func (t *T) send(client *kgo.Client, topic string, count int) []*kgo.Record {
	records := make([]*kgo.Record, count)
	for number := range records {
		value := []byte(fmt.Sprint(number))
		records[number] = &kgo.Record{Topic: topic, Key: value, Value: value}
	}
	ok(client.ProduceSync(t.ctx, records...).FirstErr())
	return records
}

// take reads this many records.
func (t *T) take(client *kgo.Client, count int) []*kgo.Record {
	ctx, cancel := context.WithTimeout(t.ctx, waitMax)
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(ctx)
		for _, each := range fetches.Errors() {
			check(kerr.IsRetriable(each.Err), "%d of %d records, then %v", len(records), count, each.Err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// readAll reads a topic up to its ends, once no transaction is open.
func (t *T) readAll(topic string, options ...kgo.Opt) []*kgo.Record {
	admin, total := t.admin(), int64(0)
	var ends kadm.ListedOffsets
	await("the end of the transactions", func() bool {
		all, err := admin.ListEndOffsets(t.ctx, topic)
		committed, committedErr := admin.ListCommittedOffsets(t.ctx, topic)
		ends = all
		return err == nil && committedErr == nil && reflect.DeepEqual(all.KOffsets(), committed.KOffsets())
	})
	starts := must(admin.ListStartOffsets(t.ctx, topic))
	at := map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, end.Partition)
		if end.Offset > start.Offset {
			total += end.Offset - start.Offset
			at[end.Partition] = kgo.NewOffset().At(start.Offset)
		}
	})
	if total == 0 {
		return nil
	}
	client := t.client(append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	ctx, cancel := context.WithTimeout(t.ctx, waitMax)
	defer cancel()
	var records []*kgo.Record
	next := map[int32]int64{}
	for done := false; !done; {
		fetches := client.PollFetches(ctx)
		check(ctx.Err() == nil, "%s is read up to %v, not to its ends", topic, next)
		fetches.EachRecord(func(record *kgo.Record) {
			next[record.Partition] = record.Offset + 1
			if !record.Attrs.IsControl() {
				records = append(records, record)
			}
		})
		done = true
		for partition := range at {
			end, _ := ends.Lookup(topic, partition)
			done = done && next[partition] >= end.Offset
		}
	}
	return records
}

func values(records []*kgo.Record) []string {
	texts := make([]string, len(records))
	for place, record := range records {
		texts[place] = string(record.Value)
	}
	return texts
}

// control drives the broker: kill, stop, start, pause, resume.
func control(words ...string) {
	executable := os.Getenv("KAFKA_CONTROL")
	if executable == "" {
		panic(skip("KAFKA_CONTROL is not set"))
	}
	command := exec.Command(executable, words...)
	command.Stderr = os.Stderr
	ok(command.Run())
}

func run(groups []group, only []string) int {
	var status atomic.Int32
	for _, group := range groups {
		var running sync.WaitGroup
		for _, test := range group.tests {
			name := group.name + "." + test.name
			if !selected(name, only) {
				continue
			}
			report := func() {
				started := time.Now()
				outcome := attempt(name, test.body)
				took := time.Since(started).Round(time.Millisecond)
				switch outcome := outcome.(type) {
				case nil:
					fmt.Println("ok", name)
				case skip:
					fmt.Println("skip", name, "-", string(outcome))
				default:
					status.Store(1)
					raiseBroker()
					fmt.Println("not ok", name, "-", strings.Join(strings.Fields(fmt.Sprint(outcome)), " "))
				}
				if took > 10*time.Second {
					fmt.Println("#", name, "took", took)
				}
			}
			if group.alone {
				report()
			} else {
				running.Go(report)
			}
		}
		running.Wait()
	}
	return int(status.Load())
}

func selected(name string, only []string) bool {
	for _, part := range only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(only) == 0
}

// raiseBroker: a test that failed may have left the broker down, which is not the next one's fault.
func raiseBroker() {
	defer func() { _ = recover() }()
	_ = exec.Command(os.Getenv("KAFKA_CONTROL"), "resume").Run()
	control("start")
}

func attempt(name string, body func(*T)) any {
	ctx, cancel := context.WithTimeout(context.Background(), testMax)
	defer cancel()
	t := &T{ctx: ctx, name: name}
	done := make(chan any, 1)
	go func() {
		defer func() {
			outcome := recover()
			if _, expected := outcome.(skip); outcome != nil && !expected {
				fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", name, outcome, bytes.TrimSpace(debug.Stack()))
			}
			done <- outcome
		}()
		body(t)
	}()
	var outcome any
	select {
	case outcome = <-done:
	case <-time.After(testMax):
		outcome = fmt.Sprintf("not done after %v", testMax)
	}
	t.lock.Lock()
	for _, close := range t.close {
		go close()
	}
	t.lock.Unlock()
	return outcome
}
