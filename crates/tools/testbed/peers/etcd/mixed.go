package main

import (
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// mixed reads and writes random keys: closed, each client with so many requests outstanding, or open, at a rate.
func mixed(todo task) (outcome, error) {
	clients, err := todo.connect(todo.Clients)
	if err != nil {
		return outcome{}, err
	}
	defer closeAll(clients)
	book := &ledger{size: todo.ValueBytes, latest: map[int]written{}}
	workers := len(clients) * max(todo.Outstanding, 1)
	histograms := make([]*hdr.Histogram, workers)
	var operations, errors, due uint64
	var measuring, stopped atomic.Bool
	started := time.Now()
	var begin, end time.Time
	var all sync.WaitGroup
	for worker := range workers {
		client, counts := clients[worker%len(clients)], histogram()
		histograms[worker] = counts
		all.Go(func() {
			dice := rand.New(rand.NewSource(todo.Seed*1_000_003 + int64(worker)))
			for write := uint64(1); !stopped.Load(); write++ {
				asked := time.Now()
				if todo.PerSecond > 0 {
					// A request counts from when it was due, also if it was sent late.
					asked = started.Add(time.Duration(float64(atomic.AddUint64(&due, 1)-1) / todo.PerSecond * 1e9))
					time.Sleep(time.Until(asked))
				}
				err := one(client, book, todo, dice, worker+1, write)
				if !measuring.Load() {
					continue
				}
				if err != nil {
					atomic.AddUint64(&errors, 1)
				} else {
					atomic.AddUint64(&operations, 1)
					_ = counts.RecordValue(max(time.Since(asked).Microseconds(), 1))
				}
			}
		})
	}
	time.Sleep(time.Duration(todo.WarmUpMs) * time.Millisecond)
	first := edge("begin", "mixed")
	begin = time.Now()
	measuring.Store(true)
	time.Sleep(time.Duration(todo.MeasuredMs) * time.Millisecond)
	measuring.Store(false)
	end = time.Now()
	last := edge("end", "mixed")
	stopped.Store(true)
	all.Wait()
	if first != nil || last != nil {
		return outcome{}, first
	}
	if err := book.look(todo); err != nil {
		return outcome{}, err
	}
	measured := phase{"mixed", operations, errors, end.Sub(begin).Seconds(), merged(histograms)}
	return outcome{Phases: []phase{measured}, Reads: book.reads, Writes: book.writes, Wrong: book.told}, nil
}

func one(client *clientv3.Client, book *ledger, todo task, dice *rand.Rand, writer int, write uint64) error {
	number := dice.Intn(todo.Keys)
	if dice.Intn(1000) >= todo.WritesPerMille {
		return get(client, book, todo, number, false)
	}
	ctx, cancel := todo.context()
	defer cancel()
	answer, err := client.Put(ctx, key(number), string(value(todo.ValueBytes, number, writer, write)))
	if err == nil {
		book.wrote(number, answer.Header.Revision, writer, write)
	}
	return err
}
