package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// worker is a client with keys of its own: the number of the latest write of each.
type worker struct {
	place   int
	client  *clientv3.Client
	latest  []uint64
	deleted int
	write   uint64
}

func (w *worker) key(number int) string { return fmt.Sprintf("%s%08d", w.prefix(), number) }
func (w *worker) prefix() string        { return fmt.Sprintf("/own/c%06d/", w.place) }

// own has each client work on keys of its own, one request after the other, step by step.
func own(todo task) (outcome, error) {
	clients, err := todo.connect(todo.Clients)
	if err != nil {
		return outcome{}, err
	}
	defer closeAll(clients)
	workers := make([]*worker, len(clients))
	for place, client := range clients {
		workers[place] = &worker{place: place, client: client}
	}
	var seen outcome
	var wrong wrongs
	for _, step := range todo.Steps {
		if step == "delete" {
			checkOwn(todo, workers, &wrong, &seen)
		}
		measured, err := play(todo, step, workers, &wrong, &seen)
		if err != nil {
			return outcome{}, err
		}
		seen.Phases = append(seen.Phases, measured)
	}
	checkOwn(todo, workers, &wrong, &seen)
	clear, cancel := todo.context()
	defer cancel()
	_, err = clients[0].Delete(clear, "/own/", clientv3.WithPrefix())
	seen.Wrong = wrong.told
	return seen, err
}

func play(todo task, step string, workers []*worker, wrong *wrongs, seen *outcome) (phase, error) {
	if err := edge("begin", step); err != nil {
		return phase{}, err
	}
	histograms := make([]*hdr.Histogram, len(workers))
	var operations, errors, reads uint64
	began := time.Now()
	until := began.Add(time.Duration(todo.MeasuredMs) * time.Millisecond)
	var all sync.WaitGroup
	for place, worker := range workers {
		counts := histogram()
		histograms[place] = counts
		all.Go(func() {
			for turn := 0; turn < todo.Count && (turn == 0 || todo.MeasuredMs == 0 || time.Now().Before(until)); turn++ {
				if step == "delete" && worker.deleted == len(worker.latest) {
					return
				}
				asked := time.Now()
				isRead, err := worker.do(todo, step, turn, wrong)
				if err != nil {
					atomic.AddUint64(&errors, 1)
					continue
				}
				if isRead {
					atomic.AddUint64(&reads, 1)
				}
				atomic.AddUint64(&operations, 1)
				_ = counts.RecordValue(max(time.Since(asked).Microseconds(), 1))
			}
		})
	}
	all.Wait()
	elapsed := time.Since(began)
	seen.Reads += reads
	return phase{step, operations, errors, elapsed.Seconds(), merged(histograms)}, edge("end", step)
}

func (w *worker) do(todo task, step string, turn int, wrong *wrongs) (bool, error) {
	ctx, cancel := todo.context()
	defer cancel()
	if step == "mixed" {
		step = []string{"get", "set"}[(turn+w.place)%2]
	}
	if step == "create" {
		w.write++
		number := len(w.latest)
		_, err := w.client.Put(ctx, w.key(number), string(value(todo.ValueBytes, number, w.place, w.write)))
		if err == nil {
			w.latest = append(w.latest, w.write)
		}
		return false, err
	}
	if step == "delete" {
		_, err := w.client.Delete(ctx, w.key(w.deleted))
		if err == nil {
			w.deleted++
		}
		return false, err
	}
	number := turn % len(w.latest)
	if step == "set" {
		w.write++
		_, err := w.client.Put(ctx, w.key(number), string(value(todo.ValueBytes, number, w.place, w.write)))
		if err == nil {
			w.latest[number] = w.write
		}
		return false, err
	}
	answer, err := w.client.Get(ctx, w.key(number), clientv3.WithSerializable())
	if err != nil {
		return true, err
	}
	if len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != string(value(todo.ValueBytes, number, w.place, w.latest[number])) {
		wrong.tell("client %d's key %d is not as it was written", w.place, number)
	}
	return true, nil
}

// checkOwn has a separate reader check everything.
func checkOwn(todo task, workers []*worker, wrong *wrongs, seen *outcome) {
	reader, err := open(todo.Endpoints[:1], todo.patience())
	if err != nil {
		wrong.tell("the separate reader cannot connect: %v", err)
		return
	}
	defer func() { _ = reader.Close() }()
	for _, worker := range workers {
		from, found := worker.prefix(), 0
		for {
			ctx, cancel := todo.context()
			limit := int64(max(1, 1_000_000/(todo.ValueBytes+100)))
			answer, err := reader.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(worker.prefix())), clientv3.WithLimit(limit))
			cancel()
			if err != nil {
				wrong.tell("client %d's keys cannot be read: %v", worker.place, err)
				return
			}
			for _, pair := range answer.Kvs {
				number := worker.deleted + found
				found++
				if number >= len(worker.latest) || string(pair.Value) != string(value(todo.ValueBytes, number, worker.place, worker.latest[number])) {
					wrong.tell("%s is not as it was written", pair.Key)
				}
			}
			if !answer.More {
				break
			}
			from = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
		}
		if found != len(worker.latest)-worker.deleted {
			wrong.tell("client %d has %d keys, %d are there", worker.place, len(worker.latest)-worker.deleted, found)
		}
		seen.Writes += uint64(found)
	}
}
