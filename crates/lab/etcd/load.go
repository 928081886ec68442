package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	patience  = 60 * time.Second
	toldMax   = 5
	stampSize = 20
)

// connect opens a connection for each client, to each endpoint in turn: a client that is moved about says nothing of one.
func connect(todo task) ([]*clientv3.Client, error) {
	clients := make([]*clientv3.Client, 0, todo.Clients)
	for number := 0; number < max(todo.Clients, 1); number++ {
		endpoint := todo.Endpoints[number%len(todo.Endpoints)]
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: patience})
		if err != nil {
			closeAll(clients)
			return nil, fmt.Errorf("no connection to %s: %w", endpoint, err)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func closeAll(clients []*clientv3.Client) {
	for _, client := range clients {
		_ = client.Close()
	}
}

func key(number int) string {
	return fmt.Sprintf("/bench/g%05d/n%010d", number/1000, number)
}

// stamp marks a value with its key, its writer and the number of its write.
func stamp(value []byte, number, writer int, write uint64) {
	if len(value) < stampSize {
		return
	}
	binary.BigEndian.PutUint32(value, 0x4c616221)
	binary.BigEndian.PutUint32(value[4:], uint32(number))
	binary.BigEndian.PutUint32(value[8:], uint32(writer))
	binary.BigEndian.PutUint64(value[12:], write)
}

// prepare writes every key once.
func prepare(clients []*clientv3.Client, todo task) error {
	next, failed := int64(-1), atomic.Value{}
	var all sync.WaitGroup
	for worker := 0; worker < 64; worker++ {
		client := clients[worker%len(clients)]
		all.Add(1)
		go func() {
			defer all.Done()
			value := make([]byte, todo.ValueBytes)
			for {
				number := int(atomic.AddInt64(&next, 1))
				if number >= todo.Keys || failed.Load() != nil {
					return
				}
				stamp(value, number, 0, 0)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_, err := client.Put(ctx, key(number), string(value))
				cancel()
				if err != nil {
					failed.Store(err)
				}
			}
		}()
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		return fmt.Errorf("the keys cannot be made: %w", err)
	}
	return nil
}

// ledger knows the latest acknowledged write of each key.
type ledger struct {
	lock   sync.Mutex
	latest map[int]written
	reads  uint64
	writes uint64
	wrong  []string
}

type written struct {
	revision int64
	writer   uint32
	write    uint64
}

func (l *ledger) wrote(number int, revision int64, writer int, write uint64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.writes++
	if revision > l.latest[number].revision {
		l.latest[number] = written{revision, uint32(writer), write}
	}
}

func (l *ledger) read(number int, revision int64, value []byte, last bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.reads++
	known := l.latest[number]
	if last && revision < known.revision {
		l.violated(fmt.Sprintf("key %d was last written at %d, a write was acknowledged at %d", number, revision, known.revision))
	}
	if len(value) < stampSize {
		return
	}
	found := written{revision, binary.BigEndian.Uint32(value[8:]), binary.BigEndian.Uint64(value[12:])}
	if int(binary.BigEndian.Uint32(value[4:])) != number || (revision == known.revision && found != known) {
		l.violated(fmt.Sprintf("key %d holds %v, %v was written", number, found, known))
	}
}

func (l *ledger) violated(what string) {
	if len(l.wrong) < toldMax {
		l.wrong = append(l.wrong, what)
	}
}

// mixed reads and writes random keys: closed, each client with so many requests outstanding, or open, at a rate.
func mixed(clients []*clientv3.Client, todo task) (outcome, error) {
	book := &ledger{latest: map[int]written{}}
	begin := time.Now().Add(time.Duration(todo.WarmUpMs) * time.Millisecond)
	end := begin.Add(time.Duration(todo.MeasuredMs) * time.Millisecond)
	workers := len(clients) * max(todo.Outstanding, 1)
	histograms := make([]*hdr.Histogram, workers)
	var operations, errors, due uint64
	started := time.Now()
	var all sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		client, histogram := clients[worker%len(clients)], hdr.New(1, 600_000_000, 3)
		histograms[worker] = histogram
		all.Add(1)
		go func() {
			defer all.Done()
			dice := rand.New(rand.NewSource(todo.Seed*1_000_003 + int64(worker)))
			value := make([]byte, todo.ValueBytes)
			for write := uint64(1); ; write++ {
				asked := time.Now()
				if todo.PerSecond > 0 {
					// A request counts from when it was due, whoever kept it from being sent.
					asked = started.Add(time.Duration(float64(atomic.AddUint64(&due, 1)-1) / todo.PerSecond * 1e9))
					time.Sleep(time.Until(asked))
				}
				if !asked.Before(end) {
					return
				}
				err := one(client, book, todo, dice, value, worker+1, write)
				if now := time.Now(); !now.Before(begin) && now.Before(end) || todo.PerSecond > 0 && !asked.Before(begin) {
					if err != nil {
						atomic.AddUint64(&errors, 1)
					} else {
						atomic.AddUint64(&operations, 1)
						_ = histogram.RecordValue(max(time.Since(asked).Microseconds(), 1))
					}
				}
			}
		}()
	}
	time.Sleep(time.Until(begin))
	edge("begin")
	time.Sleep(time.Until(end))
	edge("end")
	all.Wait()
	if err := look(clients[0], book, todo); err != nil {
		return outcome{}, err
	}
	seen := outcome{Operations: operations, Errors: errors, ElapsedS: end.Sub(begin).Seconds(), Reads: book.reads, Writes: book.writes, Wrong: book.wrong}
	seen.LatencyUs = merged(histograms)
	return seen, nil
}

func one(client *clientv3.Client, book *ledger, todo task, dice *rand.Rand, value []byte, writer int, write uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	number := dice.Intn(todo.Keys)
	if dice.Intn(1000) < todo.WritesPerMille {
		stamp(value, number, writer, write)
		answer, err := client.Put(ctx, key(number), string(value))
		if err == nil {
			book.wrote(number, answer.Header.Revision, writer, write)
		}
		return err
	}
	return get(ctx, client, book, todo, number, false)
}

func get(ctx context.Context, client *clientv3.Client, book *ledger, todo task, number int, last bool) error {
	options := []clientv3.OpOption{}
	if !todo.Linearizable && !last {
		options = append(options, clientv3.WithSerializable())
	}
	answer, err := client.Get(ctx, key(number), options...)
	if err != nil {
		return err
	}
	if len(answer.Kvs) != 1 {
		return fmt.Errorf("key %d is not there", number)
	}
	book.read(number, answer.Kvs[0].ModRevision, answer.Kvs[0].Value, last)
	return nil
}

// look reads every key that was written once more, when nothing is under way.
func look(client *clientv3.Client, book *ledger, todo task) error {
	keys := make([]int, 0, len(book.latest))
	for number := range book.latest {
		keys = append(keys, number)
	}
	for _, number := range keys {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := get(ctx, client, book, todo, number, true)
		cancel()
		if err != nil {
			return fmt.Errorf("what was written cannot be read: %w", err)
		}
	}
	return nil
}

// sequence has each client create, set, read and delete keys of its own, one after the other.
func sequence(clients []*clientv3.Client, todo task) (outcome, error) {
	histograms := make([]*hdr.Histogram, len(clients))
	var all sync.WaitGroup
	var errors uint64
	edge("begin")
	began := time.Now()
	for place, client := range clients {
		histogram := hdr.New(1, 600_000_000, 3)
		histograms[place] = histogram
		all.Add(1)
		go func() {
			defer all.Done()
			value := string(make([]byte, todo.ValueBytes))
			for number := 0; number < todo.Count; number++ {
				asked := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_, err := client.Put(ctx, fmt.Sprintf("/own/%d/%d", place, number), value)
				cancel()
				if err != nil {
					atomic.AddUint64(&errors, 1)
					continue
				}
				_ = histogram.RecordValue(max(time.Since(asked).Microseconds(), 1))
			}
		}()
	}
	all.Wait()
	elapsed := time.Since(began)
	edge("end")
	seen := outcome{Operations: uint64(len(clients)*todo.Count) - errors, Errors: errors, ElapsedS: elapsed.Seconds()}
	seen.LatencyUs = merged(histograms)
	return seen, nil
}

// merged gives each value and how often it was seen.
func merged(histograms []*hdr.Histogram) [][2]int64 {
	whole := hdr.New(1, 600_000_000, 3)
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
