package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const partitions = 3

// deathTests run before the others, while the broker has few topics to recover.
var deathTests = group{name: "deaths", alone: true, tests: []test{
	{"every_promise_outlives_kills", func(t *T) {
		loads := []*load{t.produces(), t.transacts(), t.reads(kgo.Balancers(kgo.CooperativeStickyBalancer()))}
		stop := make(chan struct{})
		var running sync.WaitGroup
		outcomes := make([]any, len(loads))
		for place, each := range loads {
			running.Go(func() {
				defer func() { outcomes[place] = recover() }()
				each.work(stop)
			})
		}
		for range 2 {
			// The load goes on for a while between kills; nothing waits for this time.
			time.Sleep(time.Second)
			control("kill")
			control("start")
		}
		time.Sleep(time.Second)
		close(stop)
		running.Wait()
		for place, each := range loads {
			check(outcomes[place] == nil, "%s: %v", each.name, outcomes[place])
			each.verify()
		}
	}},
	{"client_goes_on_after_a_pause", func(t *T) {
		topic, client := t.topic(1), t.client(kgo.ProduceRequestTimeout(2*time.Second))
		t.send(client, topic, 10)
		control("pause")
		sent := make(chan error, 1)
		client.Produce(t.ctx, &kgo.Record{Topic: topic, Value: []byte("during")}, func(_ *kgo.Record, err error) { sent <- err })
		time.Sleep(3 * time.Second)
		control("resume")
		ok(<-sent)
		records := t.readAll(topic)
		equal(len(records), 11)
	}},
}}

// A load works until it is told to stop; then its results are checked.
type load struct {
	name   string
	work   func(stop <-chan struct{})
	verify func()
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// produces is an idempotent producer: each record is there once, in order, where its acknowledgement said.
func (t *T) produces() *load {
	topic, client := t.topic(partitions), t.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(time.Minute))
	acknowledged, lock, sent := map[[2]int64]string{}, sync.Mutex{}, 0
	work := func(stop <-chan struct{}) {
		for ; !stopped(stop); sent++ {
			record := &kgo.Record{Topic: topic, Partition: int32(sent % partitions), Value: []byte(fmt.Sprint(sent))}
			client.Produce(t.ctx, record, func(record *kgo.Record, err error) {
				lock.Lock()
				defer lock.Unlock()
				if err == nil {
					acknowledged[[2]int64{int64(record.Partition), record.Offset}] = string(record.Value)
				}
			})
			if sent%20 == 0 {
				time.Sleep(2 * time.Millisecond)
			}
		}
		ok(client.Flush(t.ctx))
	}
	verify := func() {
		equal(len(acknowledged), sent, "acknowledgements")
		check(sent > 500, "only %d were sent", sent)
		found, last := map[[2]int64]string{}, map[int32]int{}
		for _, record := range t.readAll(topic) {
			number := must(strconv.Atoi(string(record.Value)))
			before, any := last[record.Partition]
			check(!any || before < number, "%d is behind %d", number, before)
			last[record.Partition] = number
			found[[2]int64{int64(record.Partition), record.Offset}] = string(record.Value)
		}
		equal(found, acknowledged)
	}
	return &load{"an idempotent producer", work, verify}
}

// transacts: of each transaction all is seen or nothing, and nothing of an aborted one.
func (t *T) transacts() *load {
	topic, id := t.topic(2), t.fresh("tx")
	committed, aborted, unknown := map[int]bool{}, map[int]bool{}, map[int]bool{}
	begun := func() *kgo.Client {
		return t.client(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.TransactionTimeout(time.Minute))
	}
	work := func(stop <-chan struct{}) {
		client := begun()
		for number := 0; !stopped(stop); number++ {
			ctx, cancel := context.WithTimeout(t.ctx, waitMax)
			err := client.BeginTransaction()
			for part := range 4 {
				client.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte(fmt.Sprintf("%d.%d", number, part))}, func(_ *kgo.Record, failed error) {
					if failed != nil {
						err = failed
					}
				})
			}
			if flushed := client.Flush(ctx); err == nil {
				err = flushed
			}
			commit := number%3 != 0 && err == nil
			if ended := client.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err == nil {
				err = ended
			}
			cancel()
			switch {
			case err != nil:
				unknown[number] = true
				client.Close()
				client = begun()
			case commit:
				committed[number] = true
			default:
				aborted[number] = true
			}
		}
	}
	verify := func() {
		seen := map[int]map[string]bool{}
		for _, record := range t.readAll(topic) {
			var number, part int
			must(fmt.Sscanf(string(record.Value), "%d.%d", &number, &part))
			if seen[number] == nil {
				seen[number] = map[string]bool{}
			}
			check(!seen[number][string(record.Value)], "%s is there twice", record.Value)
			seen[number][string(record.Value)] = true
		}
		for number, parts := range seen {
			check(!aborted[number], "transaction %d was aborted and is seen", number)
			equal(len(parts), 4, "transaction ", number)
		}
		for number := range committed {
			check(seen[number] != nil, "transaction %d was committed and is lost", number)
		}
		check(len(committed) > 5, "only %d were committed; %d unknown", len(committed), len(unknown))
	}
	return &load{"transactions", work, verify}
}

// reads is a producer with a group behind it: the group sees every record, and its offsets never go back.
func (t *T) reads(options ...kgo.Opt) *load {
	topic, group := t.topic(2), t.fresh("group")
	seen, sent, committed := map[string]bool{}, 0, map[int32]int64{}
	work := func(stop <-chan struct{}) {
		producer := t.client(kgo.RecordDeliveryTimeout(time.Minute))
		member := t.subscribed(group, topic, options...)
		deadline := time.Time{}
		for !stopped(stop) || len(seen) < sent {
			if !stopped(stop) {
				for range 5 {
					producer.Produce(t.ctx, &kgo.Record{Topic: topic, Value: []byte(fmt.Sprint(sent))}, nil)
					sent++
				}
			} else if deadline.IsZero() {
				ok(producer.Flush(t.ctx))
				deadline = time.Now().Add(waitMax)
			}
			check(deadline.IsZero() || time.Now().Before(deadline), "the group saw %d of %d", len(seen), sent)
			ctx, cancel := context.WithTimeout(t.ctx, 50*time.Millisecond)
			records := member.PollFetches(ctx).Records()
			cancel()
			for _, record := range records {
				seen[string(record.Value)] = true
			}
			ctx, cancel = context.WithTimeout(t.ctx, 5*time.Second)
			if len(records) > 0 && member.CommitRecords(ctx, records...) == nil {
				for _, record := range records {
					committed[record.Partition] = record.Offset + 1
				}
			}
			cancel()
		}
	}
	verify := func() {
		check(sent > 50, "only %d were sent", sent)
		now := must(t.admin().FetchOffsets(t.ctx, group))
		for partition, offset := range committed {
			at, _ := now.Lookup(topic, partition)
			check(at.At >= offset, "offset %d was committed, is %d", offset, at.At)
		}
	}
	return &load{"a group", work, verify}
}
