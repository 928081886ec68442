package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// elect joins an election and returns, when it leads, the node to delete for resigning.
func elect(conn *zk.Conn, path string) (string, error) {
	mine, err := conn.CreateProtectedEphemeralSequential(path+"/n-", nil, open())
	if err != nil {
		return "", err
	}
	number := func(name string) string { return name[len(name)-10:] }
	for {
		children, _, err := conn.Children(path)
		if err != nil {
			return "", err
		}
		before := ""
		for _, child := range children {
			if number(child) < number(mine) && (before == "" || number(child) > number(before)) {
				before = child
			}
		}
		if before == "" {
			return mine, nil
		}
		exists, _, watch, err := conn.ExistsW(path + "/" + before)
		if err != nil {
			return "", err
		}
		if exists {
			<-watch
		}
	}
}

// enter is the first half of a double barrier: it returns when `size` have come.
func enter(conn *zk.Conn, path, name string, size int) error {
	exists, _, ready, err := conn.ExistsW(path + "/ready")
	if err != nil {
		return err
	}
	if _, err = conn.Create(path+"/"+name, nil, zk.FlagEphemeral, open()); err != nil {
		return err
	}
	children, _, err := conn.Children(path)
	if err != nil {
		return err
	}
	if len(children) >= size && !exists {
		if _, err = conn.Create(path+"/ready", nil, zk.FlagEphemeral, open()); err == zk.ErrNodeExists {
			err = nil
		}
		return err
	}
	<-ready
	return nil
}

// take removes the first entry of a queue, or waits for one.
func take(conn *zk.Conn, path string) (string, error) {
	for {
		children, _, watch, err := conn.ChildrenW(path)
		if err != nil {
			return "", err
		}
		sort.Strings(children)
		for _, child := range children {
			data, stat, err := conn.Get(path + "/" + child)
			if err == nil {
				err = conn.Delete(path+"/"+child, stat.Version)
			}
			switch err {
			case nil:
				return string(data), nil
			case zk.ErrNoNode:
			default:
				return "", err
			}
		}
		if len(children) == 0 {
			<-watch
		}
	}
}

var recipeTests = group{"recipes", []test{
	{"lock-excludes", func(t *T) {
		path := t.path + "/lock"
		var inside, total int32
		var group sync.WaitGroup
		for n := 0; n < 5; n++ {
			conn := t.client()
			group.Add(1)
			go func() {
				defer group.Done()
				for m := 0; m < 10; m++ {
					lock := zk.NewLock(conn, path, open())
					if lock.Lock() != nil || atomic.AddInt32(&inside, 1) > 1 {
						return
					}
					atomic.AddInt32(&total, 1)
					atomic.AddInt32(&inside, -1)
					if lock.Unlock() != nil {
						return
					}
				}
			}()
		}
		group.Wait()
		equal(total, int32(50))
	}},
	{"lock-twice-is-a-deadlock", func(t *T) {
		lock := zk.NewLock(t.zk, t.path+"/lock", open())
		ok(lock.LockWithData([]byte("me")))
		refused(lock.Lock(), zk.ErrDeadlock)
		children, _, err := t.zk.Children(t.path + "/lock")
		ok(err)
		equal(t.data(t.path+"/lock/"+children[0]), "me")
		ok(lock.Unlock())
		refused(lock.Unlock(), zk.ErrNotLocked)
	}},
	{"lock-of-a-closed-session-is-free", func(t *T) {
		doomed := t.client()
		ok(zk.NewLock(doomed, t.path+"/lock", open()).Lock())
		got := make(chan error, 1)
		go func() { got <- zk.NewLock(t.zk, t.path+"/lock", open()).Lock() }()
		await("the waiter", func() bool {
			children, _, err := t.zk.Children(t.path + "/lock")
			return err == nil && len(children) == 2
		})
		doomed.Close()
		select {
		case err := <-got:
			ok(err)
		case <-time.After(waitMax):
			fail("not passed on")
		}
	}},
	{"lock-of-several-levels", func(t *T) {
		lock := zk.NewLock(t.zk, t.path+"/some/deep/lock", open())
		ok(lock.Lock())
		ok(lock.Unlock())
	}},
	{"election-passes-on-in-order", func(t *T) {
		var lock sync.Mutex
		var order []int
		first := must(elect(t.zk, t.path))
		var group sync.WaitGroup
		for n := 0; n < 4; n++ {
			conn := t.client()
			group.Add(1)
			go func(n int) {
				defer group.Done()
				if _, err := elect(conn, t.path); err == nil {
					lock.Lock()
					order = append(order, n)
					lock.Unlock()
				}
				conn.Close()
			}(n)
			await("the candidate", func() bool {
				children, _, err := t.zk.Children(t.path)
				return err == nil && len(children) == n+2
			})
		}
		equal(len(order), 0)
		ok(t.zk.Delete(first, -1))
		group.Wait()
		equal(order, []int{0, 1, 2, 3})
	}},
	{"double-barrier", func(t *T) {
		entered := make(chan error, 3)
		for n := 0; n < 3; n++ {
			conn := t.client()
			if n == 2 {
				await("two at the barrier", func() bool {
					children, _, err := t.zk.Children(t.path)
					return err == nil && len(children) == 2
				})
				equal(len(entered), 0)
			}
			go func(n int) { entered <- enter(conn, t.path, fmt.Sprint("c", n), 3) }(n)
		}
		for n := 0; n < 3; n++ {
			ok(<-entered)
		}
	}},
	{"queue-gives-each-once", func(t *T) {
		const entries = 60
		results := make(chan string, entries)
		for n := 0; n < 4; n++ {
			conn := t.client()
			go func() {
				for {
					entry, err := take(conn, t.path)
					if err != nil {
						return
					}
					results <- entry
				}
			}()
		}
		for n := 0; n < entries; n++ {
			must(t.zk.Create(t.path+"/q-", []byte(fmt.Sprintf("%03d", n)), zk.FlagSequence, open()))
		}
		var got []string
		for n := 0; n < entries; n++ {
			select {
			case entry := <-results:
				got = append(got, entry)
			case <-time.After(waitMax):
				fail("%d of %d entries", n, entries)
			}
		}
		sort.Strings(got)
		equal(got[0]+" "+got[entries-1], "000 059")
		equal(len(strings.Join(got, "")), 3*entries)
	}},
	{"cache-follows-children", func(t *T) {
		updates := make(chan []string, 100)
		conn := t.client()
		go func() {
			for {
				children, _, watch, err := conn.ChildrenW(t.path)
				if err != nil {
					return
				}
				sort.Strings(children)
				updates <- children
				<-watch
			}
		}()
		equal(<-updates, []string{})
		for n := 0; n < 20; n++ {
			t.node(fmt.Sprintf("n%02d", n), "")
		}
		for last := []string{}; len(last) < 20; {
			select {
			case last = <-updates:
			case <-time.After(waitMax):
				fail("stopped at %v", last)
			}
		}
	}},
}}
