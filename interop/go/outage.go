package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

func (t *T) restart(how string) {
	before := t.events.count(zk.StateHasSession)
	control(how)
	t.events.await(zk.StateDisconnected)
	control("start")
	await("reconnection", func() bool { return t.events.count(zk.StateHasSession) > before })
	check(!t.events.seen(zk.StateExpired), "expired")
}

func (t *T) stats(names ...string) (stats []zk.Stat) {
	for _, name := range names {
		_, stat, err := t.zk.Exists(t.path + "/" + name)
		ok(err)
		stats = append(stats, *stat)
	}
	return stats
}

var outageTests = group{"outage", []test{
	{"kill-keeps-everything", func(t *T) {
		t.node("plain", "data")
		must(t.zk.Create(t.path+"/e", []byte("x"), zk.FlagEphemeral, open()))
		must(t.zk.CreateContainer(t.path+"/c", nil, zk.FlagContainer, open()))
		must(t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open()))
		must(t.zk.Create(t.path+"/hers", nil, 0, hers()))
		before, session := t.stats("plain", "e", "c", "n-0000000003"), t.zk.SessionID()
		t.restart("kill")
		equal(t.zk.SessionID(), session)
		equal(t.stats("plain", "e", "c", "n-0000000003"), before)
		equal(t.data(t.path+"/plain"), "data")
		_, _, err := t.zk.Get(t.path + "/hers")
		refused(err, zk.ErrNoAuth)
		equal(must(t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open())), t.path+"/n-0000000005")
	}},
	{"stop-keeps-everything", func(t *T) {
		must(t.zk.Create(t.path+"/e", []byte("x"), zk.FlagEphemeral, open()))
		before := t.stats("e")
		t.restart("stop")
		equal(t.stats("e"), before)
	}},
	{"kill-loses-nothing-acknowledged", func(t *T) {
		var lock sync.Mutex
		acknowledged := map[string]bool{}
		var group sync.WaitGroup
		var killed atomic.Bool
		for worker := 0; worker < 50; worker++ {
			group.Add(1)
			go func(worker int) {
				defer group.Done()
				for n := 0; !killed.Load(); n++ {
					name := fmt.Sprintf("w%d-%d", worker, n)
					if _, err := t.zk.Create(t.path+"/"+name, []byte(name), 0, open()); err != nil {
						return
					}
					lock.Lock()
					acknowledged[name] = true
					lock.Unlock()
				}
			}(worker)
		}
		await("some acknowledgements", func() bool {
			lock.Lock()
			defer lock.Unlock()
			return len(acknowledged) > 500
		})
		control("kill")
		killed.Store(true)
		control("start")
		// Not earlier: what is asked of a client without a connection waits for the next one.
		group.Wait()
		await("reconnection", func() bool { return t.events.count(zk.StateHasSession) == 2 })
		children, _, err := t.zk.Children(t.path)
		ok(err)
		for _, child := range children {
			delete(acknowledged, child)
		}
		equal(len(acknowledged), 0, "acknowledged and lost")
	}},
	{"watches-come-back", func(t *T) {
		path := t.node("a", "")
		data, created := watchData(t.zk, path), watchExists(t.zk, t.path+"/b")
		t.restart("kill")
		other := t.client()
		must(other.Set(path, nil, -1))
		must(other.Create(t.path+"/b", nil, 0, open()))
		told(data, zk.EventNodeDataChanged, path)
		told(created, zk.EventNodeCreated, t.path+"/b")
	}},
	{"absent-sessions-expire", func(t *T) {
		door := t.proxy()
		conn, _ := t.clientAt(door.address, time.Second)
		path := must(conn.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		door.shut()
		t.restart("kill")
		await("the ephemeral's end", func() bool { return t.gone(path) })
	}},
	{"lock-stays-held", func(t *T) {
		lock := zk.NewLock(t.zk, t.path+"/lock", open())
		ok(lock.Lock())
		t.restart("kill")
		got := make(chan error, 1)
		rival := t.client()
		go func() { got <- zk.NewLock(rival, t.path+"/lock", open()).Lock() }()
		await("the rival", func() bool {
			children, _, err := t.zk.Children(t.path + "/lock")
			return err == nil && len(children) == 2
		})
		equal(len(got), 0)
		ok(lock.Unlock())
		await("the rival's turn", func() bool { return len(got) == 1 })
		ok(<-got)
	}},
	{"a-pause-is-survived", func(t *T) {
		conn, events := t.clientAt(connect, 1500*time.Millisecond)
		control("pause")
		func() {
			defer control("resume")
			events.await(zk.StateDisconnected)
		}()
		await("an answer", func() bool {
			exists, _, err := conn.Exists("/")
			return err == nil && exists
		})
	}},
}}
