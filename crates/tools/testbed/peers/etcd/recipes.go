package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

// held is how long a lock is kept where others wait for it: a second holder would be seen. It counts nowhere.
const held = time.Millisecond

// errOver ends a client that has done everything.
var errOver = errors.New("over")

// turn is what a client does again and again: how long what counts took, or less than 0.
type turn func(number int) (time.Duration, error)

// recipes runs clients that use etcd's recipes on one object, each with a connection and a session of its own.
type recipes struct {
	todo     task
	clients  []*clientv3.Client
	sessions []*concurrency.Session
	base     string
	wrong    wrongs
	counts   atomic.Bool
	ending   atomic.Bool
}

func begin(todo task) (*recipes, error) {
	clients, err := todo.connect(todo.Clients)
	if err != nil {
		return nil, err
	}
	r := &recipes{todo: todo, clients: clients, base: fmt.Sprintf("/recipes/%d", time.Now().UnixNano())}
	for _, client := range clients {
		session, err := concurrency.NewSession(client)
		if err != nil {
			closeAll(clients)
			return nil, err
		}
		r.sessions = append(r.sessions, session)
	}
	return r, nil
}

func (r *recipes) close() {
	for _, session := range r.sessions {
		_ = session.Close()
	}
	closeAll(r.clients)
}

// run has each client take its turns; what lies between warm-up and end is measured.
func (r *recipes) run(name string, turns []turn) (phase, error) {
	histograms := make([]*hdr.Histogram, len(turns))
	failures := make(chan error, len(turns))
	var all sync.WaitGroup
	for place, take := range turns {
		counts := histogram()
		histograms[place] = counts
		all.Go(func() {
			for number := 0; ; number++ {
				took, err := take(number)
				if errors.Is(err, errOver) {
					return
				}
				if err != nil {
					failures <- fmt.Errorf("client %d: %w", place, err)
					return
				}
				if r.counts.Load() && took >= 0 {
					_ = counts.RecordValue(max(took.Microseconds(), 1))
				}
			}
		})
	}
	pause := func(ms int) error {
		select {
		case err := <-failures:
			return err
		case <-time.After(time.Duration(ms) * time.Millisecond):
			return nil
		}
	}
	if err := pause(r.todo.WarmUpMs); err != nil {
		return phase{}, err
	}
	if err := edge("begin", name); err != nil {
		return phase{}, err
	}
	r.counts.Store(true)
	began := time.Now()
	if err := pause(r.todo.MeasuredMs); err != nil {
		return phase{}, err
	}
	r.counts.Store(false)
	elapsed := time.Since(began)
	if err := edge("end", name); err != nil {
		return phase{}, err
	}
	r.ending.Store(true)
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case err := <-failures:
		return phase{}, err
	case <-time.After(r.todo.patience()):
		return phase{}, fmt.Errorf("a client was not answered within %v", r.todo.patience())
	case <-done:
	}
	select {
	case err := <-failures:
		return phase{}, err
	default:
	}
	latency := merged(histograms)
	var operations uint64
	for _, bar := range latency {
		operations += uint64(bar[1])
	}
	return phase{name, operations, 0, elapsed.Seconds(), latency}, nil
}

func lockPair(todo task) (outcome, error) { return locks(todo, true) }
func handOff(todo task) (outcome, error)  { return locks(todo, false) }

// locks measures pairs of acquire and release, or what lies between a release and the next holder's knowledge of the lock.
func locks(todo task, pairs bool) (outcome, error) {
	r, err := begin(todo)
	if err != nil {
		return outcome{}, err
	}
	defer r.close()
	var holders, grants, releasedAt atomic.Int64
	// Only a holder touches them: a lock that lets two in loses some of the plain count.
	var fence, plain int64
	var turns []turn
	for _, session := range r.sessions {
		mutex := concurrency.NewMutex(session, r.base)
		turns = append(turns, func(int) (time.Duration, error) {
			if r.ending.Load() {
				return 0, errOver
			}
			ctx, cancel := r.todo.context()
			defer cancel()
			began := time.Now()
			if err := mutex.Lock(ctx); err != nil {
				return 0, err
			}
			granted, since := time.Now(), releasedAt.Load()
			if holders.Add(1) != 1 {
				r.wrong.tell("two clients held the lock at once")
			}
			if next := mutex.Header().Revision; next <= fence {
				r.wrong.tell("fence %d was granted behind %d", next, fence)
			} else {
				fence = next
			}
			plain++
			grants.Add(1)
			if !pairs {
				time.Sleep(held)
			}
			holders.Add(-1)
			releasedAt.Store(time.Now().UnixNano())
			if err := mutex.Unlock(ctx); err != nil {
				return 0, err
			}
			switch {
			case pairs:
				return time.Since(began), nil
			case since == 0:
				return -1, nil
			default:
				return time.Duration(granted.UnixNano() - since), nil
			}
		})
	}
	measured, err := r.run("lock", turns)
	if err != nil {
		return outcome{}, err
	}
	if plain != grants.Load() {
		r.wrong.tell("%d grants, of which a plain counter under the lock has %d", grants.Load(), plain)
	}
	return outcome{Phases: []phase{measured}, Writes: uint64(grants.Load()), Wrong: r.wrong.told}, nil
}

// doubleBarrier has all clients enter a barrier and leave it, round after round; a round is what the first client sees of it.
func doubleBarrier(todo task) (outcome, error) {
	r, err := begin(todo)
	if err != nil {
		return outcome{}, err
	}
	defer r.close()
	var came, gone atomic.Int64
	var lock sync.Mutex
	begun := -1
	// At the end all must have taken the same rounds.
	begins := func(round int) bool {
		lock.Lock()
		defer lock.Unlock()
		if r.ending.Load() && round > begun {
			return false
		}
		begun = max(begun, round)
		return true
	}
	check := func(what string, there int64, round int) {
		if whole := int64(round+1) * int64(todo.Clients); there != whole {
			r.wrong.tell("round %d was %s when %d of %d clients had come to that", round, what, there, whole)
		}
	}
	var turns []turn
	for place, session := range r.sessions {
		turns = append(turns, func(round int) (time.Duration, error) {
			if !begins(round) {
				return 0, errOver
			}
			barrier := recipe.NewDoubleBarrier(session, fmt.Sprintf("%s/%d", r.base, round), todo.Clients)
			began := time.Now()
			came.Add(1)
			if err := barrier.Enter(); err != nil {
				return 0, err
			}
			check("entered", came.Load(), round)
			gone.Add(1)
			if err := barrier.Leave(); err != nil {
				return 0, err
			}
			check("left", gone.Load(), round)
			if place != 0 {
				return -1, nil
			}
			return time.Since(began), nil
		})
	}
	measured, err := r.run("round", turns)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Phases: []phase{measured}, Barriers: uint64(begun + 1), Wrong: r.wrong.told}, nil
}

// increment has all clients increment one counter, by transactions that are tried again.
func increment(todo task) (outcome, error) {
	r, err := begin(todo)
	if err != nil {
		return outcome{}, err
	}
	defer r.close()
	var count, sum atomic.Int64
	var turns []turn
	for _, client := range r.clients {
		var before int64
		turns = append(turns, func(int) (time.Duration, error) {
			if r.ending.Load() {
				return 0, errOver
			}
			ctx, cancel := r.todo.context()
			defer cancel()
			began := time.Now()
			value, err := add(ctx, client, r.base)
			if err != nil {
				return 0, err
			}
			if value <= before {
				r.wrong.tell("a client's increment gave %d behind %d", value, before)
			}
			before = value
			count.Add(1)
			sum.Add(value)
			return time.Since(began), nil
		})
	}
	measured, err := r.run("increment", turns)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := r.todo.context()
	defer cancel()
	found, _, err := read(ctx, r.clients[0], r.base)
	if err != nil {
		return outcome{}, err
	}
	all := count.Load()
	if found != all {
		r.wrong.tell("the counter is at %d after %d increments", found, all)
	}
	if sum.Load() != all*(all+1)/2 {
		r.wrong.tell("%d increments did not give a value each", all)
	}
	return outcome{Phases: []phase{measured}, Reads: 1, Writes: uint64(all), Wrong: r.wrong.told}, nil
}

// add increments a counter once nobody else did so meanwhile; a transaction that fails tells what is there.
func add(ctx context.Context, client *clientv3.Client, key string) (int64, error) {
	value, revision, err := read(ctx, client, key)
	for err == nil {
		next := strconv.FormatInt(value+1, 10)
		var response *clientv3.TxnResponse
		response, err = client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, next)).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			break
		}
		if response.Succeeded {
			return value + 1, nil
		}
		there := response.Responses[0].GetResponseRange().Kvs[0]
		revision = there.ModRevision
		value, err = strconv.ParseInt(string(there.Value), 10, 64)
	}
	return 0, err
}

// read gives a counter's value and revision; both are 0 if it does not exist.
func read(ctx context.Context, client *clientv3.Client, key string) (int64, int64, error) {
	response, err := client.Get(ctx, key)
	if err != nil || len(response.Kvs) == 0 {
		return 0, 0, err
	}
	value, err := strconv.ParseInt(string(response.Kvs[0].Value), 10, 64)
	return value, response.Kvs[0].ModRevision, err
}
