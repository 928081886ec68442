package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func within(number int) string { return fmt.Sprintf("/barrier/%06d/in/", number) }
func ready(number int) string  { return fmt.Sprintf("/ready/%06d", number) }

// barriers has all clients enter barriers one after the other, then leave them all; each waits for everybody each time.
func barriers(todo task) (outcome, error) {
	clients, err := todo.connect(todo.Clients)
	if err != nil {
		return outcome{}, err
	}
	defer closeAll(clients)
	signals := make([]clientv3.WatchChan, len(clients))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for place, client := range clients {
		signals[place] = client.Watch(ctx, "/ready/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		<-signals[place]
	}
	var seen outcome
	var wrong wrongs
	pass := func(name string, from, to int) (phase, error) {
		histograms := make([]*hdr.Histogram, len(clients))
		var operations, errors uint64
		began := time.Now()
		var all sync.WaitGroup
		for place, client := range clients {
			counts := histogram()
			histograms[place] = counts
			all.Go(func() {
				for number := from; number < to; number++ {
					asked := time.Now()
					if err := step(client, todo, name, number, place, signals[place]); err != nil {
						atomic.AddUint64(&errors, 1)
						wrong.tell("barrier %d: %v", number, err)
						return
					}
					atomic.AddUint64(&operations, 1)
					_ = counts.RecordValue(max(time.Since(asked).Microseconds(), 1))
				}
			})
		}
		all.Wait()
		return phase{name, operations, errors, time.Since(began).Seconds(), merged(histograms)}, nil
	}
	for place, name := range []string{"enter", "leave"} {
		if _, err := pass(name, 0, 1); err != nil {
			return seen, err
		}
		if err := edge("begin", name); err != nil {
			return seen, err
		}
		measured, err := pass(name, 1, todo.Count+1)
		if err != nil {
			return seen, err
		}
		if err := edge("end", name); err != nil {
			return seen, err
		}
		seen.Phases = append(seen.Phases, measured)
		expected := []int{len(clients), 0}[place]
		if err := lookAtBarriers(todo, expected, &wrong, &seen); err != nil {
			return seen, err
		}
	}
	seen.Wrong = wrong.told
	return seen, nil
}

func step(client *clientv3.Client, todo task, name string, number, place int, signals clientv3.WatchChan) error {
	ctx, cancel := todo.context()
	defer cancel()
	mine := fmt.Sprintf("%s%06d", within(number), place)
	change, last, kind := clientv3.OpPut(mine, ""), int64(todo.Clients), clientv3.EventTypePut
	if name == "leave" {
		change, last, kind = clientv3.OpDelete(mine), 0, clientv3.EventTypeDelete
	}
	count := clientv3.OpGet(within(number), clientv3.WithPrefix(), clientv3.WithCountOnly())
	answer, err := client.Txn(ctx).Then(change, count).Commit()
	if err != nil {
		return err
	}
	if answer.Responses[1].GetResponseRange().Count == last {
		if name == "leave" {
			_, err = client.Delete(ctx, ready(number))
		} else {
			_, err = client.Put(ctx, ready(number), "")
		}
		if err != nil {
			return err
		}
	}
	for {
		select {
		case told, open := <-signals:
			if !open {
				return fmt.Errorf("the watch ended")
			}
			for _, event := range told.Events {
				if event.Type == kind && string(event.Kv.Key) == ready(number) {
					return nil
				}
			}
		case <-ctx.Done():
			return fmt.Errorf("no event says that all are there")
		}
	}
}

// lookAtBarriers has a client that takes no part count who is in each barrier.
func lookAtBarriers(todo task, expected int, wrong *wrongs, seen *outcome) error {
	reader, err := open(todo.Endpoints[:1], todo.patience())
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	for number := range todo.Count + 1 {
		ctx, cancel := todo.context()
		answer, err := reader.Get(ctx, within(number), clientv3.WithPrefix(), clientv3.WithCountOnly())
		cancel()
		if err != nil {
			return err
		}
		if int(answer.Count) != expected {
			wrong.tell("%d are in barrier %d, not %d", answer.Count, number, expected)
			continue
		}
		seen.Barriers++
	}
	return nil
}

// watches has each client watch every client's key; then each writes its own once, and all events are waited for.
func watches(todo task) (outcome, error) {
	clients, err := todo.connect(todo.Clients)
	if err != nil {
		return outcome{}, err
	}
	defer closeAll(clients)
	var told, foreign atomic.Uint64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	name := func(number int) string { return fmt.Sprintf("/watched/%06d", number) }
	for number, client := range clients {
		if _, err := client.Put(ctx, name(number), ""); err != nil {
			return outcome{}, err
		}
	}
	var current atomic.Value
	current.Store("0")
	complete := make(chan struct{}, 1)
	owed := uint64(len(clients) * len(clients))
	var setting sync.WaitGroup
	for _, client := range clients {
		setting.Go(func() {
			for number := range clients {
				events := client.Watch(ctx, name(number), clientv3.WithCreatedNotify())
				<-events
				go func() {
					for answer := range events {
						for _, event := range answer.Events {
							if string(event.Kv.Value) != current.Load().(string) || !strings.HasSuffix(string(event.Kv.Key), fmt.Sprintf("%06d", number)) {
								foreign.Add(1)
							}
							if told.Add(1) == owed {
								complete <- struct{}{}
							}
						}
					}
				}()
			}
		})
	}
	setting.Wait()
	var wrong wrongs
	counts := histogram()
	measured := phase{Name: "watches"}
	for round := 0; round == 0 || measured.ElapsedS*1000 < float64(todo.MeasuredMs); round++ {
		told.Store(0)
		text := fmt.Sprint(round + 1)
		current.Store(text)
		if err := edge("begin", "watches"); err != nil {
			return outcome{}, err
		}
		began := time.Now()
		var all sync.WaitGroup
		for number, client := range clients {
			all.Go(func() {
				limited, done := todo.context()
				defer done()
				if _, err := client.Put(limited, name(number), text); err != nil {
					wrong.tell("a key cannot be written: %v", err)
				}
			})
		}
		all.Wait()
		select {
		case <-complete:
		case <-time.After(todo.patience()):
			wrong.tell("%d of %d events came", told.Load(), owed)
		}
		took := time.Since(began)
		if err := edge("end", "watches"); err != nil {
			return outcome{}, err
		}
		measured.ElapsedS += took.Seconds()
		measured.Operations += told.Load()
		_ = counts.RecordValue(took.Microseconds())
		if len(wrong.told) > 0 {
			break
		}
	}
	if foreign.Load() > 0 {
		wrong.tell("%d events were of something else", foreign.Load())
	}
	measured.LatencyUs = merged([]*hdr.Histogram{counts})
	return outcome{Phases: []phase{measured}, Events: measured.Operations, Wrong: wrong.told}, nil
}

// timeline has clients write at a steady pace, each its own key, again and again until it is acknowledged.
func timeline(todo task) (outcome, error) {
	clients := make([]*clientv3.Client, todo.Clients)
	for place := range clients {
		turned := append(append([]string{}, todo.Endpoints[place%len(todo.Endpoints):]...), todo.Endpoints[:place%len(todo.Endpoints)]...)
		client, err := open(turned, todo.patience())
		if err != nil {
			return outcome{}, err
		}
		defer func() { _ = client.Close() }()
		clients[place] = client
	}
	type sample struct{ due, done time.Time }
	samples := make([][]sample, len(clients))
	latest := make([]uint64, len(clients))
	var lost atomic.Uint64
	var wrong wrongs
	var begin time.Time
	start, stop := make(chan struct{}), time.Duration(todo.MeasuredMs)*time.Millisecond
	between := time.Duration(float64(len(clients)) / todo.PerSecond * 1e9)
	var all sync.WaitGroup
	for place, client := range clients {
		all.Go(func() {
			<-start
			for write := 1; ; write++ {
				due := begin.Add(time.Duration(write-1)*between + between*time.Duration(place)/time.Duration(len(clients)))
				if due.Sub(begin) >= stop {
					return
				}
				time.Sleep(time.Until(due))
				for tries := time.Now(); ; {
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
					_, err := client.Put(ctx, key(place), string(value(todo.ValueBytes, place, place+1, uint64(write))))
					cancel()
					if err == nil {
						break
					}
					lost.Add(1)
					if time.Since(tries) > todo.patience() {
						wrong.tell("a write of client %d was never acknowledged: %v", place, err)
						return
					}
					time.Sleep(2 * time.Millisecond)
				}
				latest[place] = uint64(write)
				samples[place] = append(samples[place], sample{due, time.Now()})
			}
		})
	}
	if err := edge("begin", "timeline"); err != nil {
		return outcome{}, err
	}
	begin = time.Now()
	close(start)
	all.Wait()
	elapsed := time.Since(begin)
	if err := edge("end", "timeline"); err != nil {
		return outcome{}, err
	}
	var seen outcome
	counts := histogram()
	slots := map[int][2]float64{}
	for _, of := range samples {
		for _, one := range of {
			late := one.done.Sub(one.due)
			_ = counts.RecordValue(max(late.Microseconds(), 1))
			slot := int(one.done.Sub(begin).Milliseconds() / 10)
			slots[slot] = [2]float64{slots[slot][0] + 1, max(slots[slot][1], float64(late.Microseconds()))}
		}
	}
	for slot := range int(elapsed.Milliseconds()/10) + 1 {
		seen.Timeline = append(seen.Timeline, [3]float64{float64(slot * 10), slots[slot][0], slots[slot][1]})
	}
	book := &ledger{size: todo.ValueBytes, latest: map[int]written{}}
	for place, write := range latest {
		ctx, cancel := todo.context()
		answer, err := clients[0].Get(ctx, key(place))
		cancel()
		if err != nil || len(answer.Kvs) != 1 {
			wrong.tell("key %d cannot be read: %v", place, err)
			continue
		}
		book.latest[place] = written{answer.Kvs[0].ModRevision, place + 1, write}
		book.read(place, answer.Kvs[0].ModRevision, answer.Kvs[0].Value, true)
	}
	seen.Phases = []phase{{"timeline", uint64(counts.TotalCount()), 0, elapsed.Seconds(), merged([]*hdr.Histogram{counts})}}
	seen.Reads, seen.Writes, seen.Lost = book.reads, uint64(counts.TotalCount()), lost.Load()
	seen.Wrong = append(wrong.told, book.told...)
	return seen, nil
}
