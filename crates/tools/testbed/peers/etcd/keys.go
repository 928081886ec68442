package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const stampSize = 20

func (t task) patience() time.Duration { return time.Duration(t.PatienceMs) * time.Millisecond }

func (t task) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), t.patience())
}

// connect opens a connection for each client, to each endpoint in turn: a client that moves about says nothing of one.
func (t task) connect(number int) ([]*clientv3.Client, error) {
	clients := make([]*clientv3.Client, 0, number)
	for place := 0; place < number; place++ {
		client, err := open(t.Endpoints[place%len(t.Endpoints):][:1], t.patience())
		if err != nil {
			closeAll(clients)
			return nil, err
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func open(endpoints []string, patience time.Duration) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: patience, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("no connection to %s: %w", endpoints, err)
	}
	return client, nil
}

func closeAll(clients []*clientv3.Client) {
	var all sync.WaitGroup
	for _, client := range clients {
		all.Go(func() { _ = client.Close() })
	}
	all.Wait()
}

func key(number int) string { return fmt.Sprintf("/bench/g%05d/n%010d", number/1000, number) }

// value marks bytes with their key, its writer and the number of its write, as far as they reach.
func value(size, number, writer int, write uint64) []byte {
	bytes := make([]byte, size)
	switch {
	case size >= stampSize:
		binary.BigEndian.PutUint32(bytes, 0x4c616221)
		binary.BigEndian.PutUint32(bytes[4:], uint32(number))
		binary.BigEndian.PutUint32(bytes[8:], uint32(writer))
		binary.BigEndian.PutUint64(bytes[12:], write)
	case size >= 5:
		binary.BigEndian.PutUint32(bytes, uint32(number))
		bytes[size-1] = byte(write)
	}
	return bytes
}

// prepare writes every key once.
func prepare(todo task) (outcome, error) {
	clients, err := todo.connect(8)
	if err != nil {
		return outcome{}, err
	}
	defer closeAll(clients)
	next, failed := int64(todo.From)-1, atomic.Value{}
	var all sync.WaitGroup
	for worker := range 64 {
		client := clients[worker%len(clients)]
		all.Go(func() {
			// Many keys in one transaction, as many as etcd takes unless told otherwise, if they are small.
			each := max(1, min(100, 500_000/(todo.ValueBytes+100)))
			for failed.Load() == nil {
				end := int(atomic.AddInt64(&next, int64(each)))
				var puts []clientv3.Op
				for number := end - each + 1; number <= end && number < todo.Keys; number++ {
					puts = append(puts, clientv3.OpPut(key(number), string(value(todo.ValueBytes, number, 0, 0))))
				}
				if len(puts) == 0 {
					return
				}
				ctx, cancel := todo.context()
				_, err := client.Txn(ctx).Then(puts...).Commit()
				cancel()
				if err != nil {
					failed.Store(err)
				}
			}
		})
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		return outcome{}, fmt.Errorf("the keys cannot be made: %w", err)
	}
	return outcome{}, nil
}

// ledger knows the latest acknowledged write of each key.
type ledger struct {
	wrongs
	size   int
	latest map[int]written
	reads  uint64
	writes uint64
}

type written struct {
	revision int64
	writer   int
	write    uint64
}

func (l *ledger) wrote(number int, revision int64, writer int, write uint64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.writes++
	if revision > l.latest[number].revision {
		l.latest[number] = written{revision, writer, write}
	}
}

func (l *ledger) read(number int, revision int64, bytes []byte, last bool) {
	l.lock.Lock()
	l.reads++
	known := l.latest[number]
	l.lock.Unlock()
	if last && revision < known.revision {
		l.tell("key %d was last written at %d, a write was acknowledged at %d", number, revision, known.revision)
	}
	expected := value(l.size, number, known.writer, known.write)
	switch {
	case len(bytes) != l.size:
		l.tell("key %d holds %d bytes", number, len(bytes))
	case revision == known.revision && string(bytes) != string(expected):
		l.tell("key %d holds %x, %x was written", number, bytes[:min(stampSize, len(bytes))], expected[:min(stampSize, len(bytes))])
	case l.size >= stampSize && int(binary.BigEndian.Uint32(bytes[4:])) != number,
		l.size >= 5 && l.size < stampSize && int(binary.BigEndian.Uint32(bytes)) != number:
		l.tell("key %d holds what was written to another", number)
	}
}

// look reads every key that was written once more, when nothing is under way.
func (l *ledger) look(todo task) error {
	client, err := open(todo.Endpoints[:1], todo.patience())
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	numbers := make(chan int, len(l.latest))
	for number := range l.latest {
		numbers <- number
	}
	close(numbers)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for number := range numbers {
				if err := get(client, l, todo, number, true); err != nil {
					l.tell("key %d cannot be read: %v", number, err)
				}
			}
		})
	}
	all.Wait()
	return nil
}

func get(client *clientv3.Client, book *ledger, todo task, number int, last bool) error {
	ctx, cancel := todo.context()
	defer cancel()
	var options []clientv3.OpOption
	if !last {
		// As a ZooKeeper's member answers: from what it has itself.
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
