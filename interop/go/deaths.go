package main

import (
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// Members of the ensemble are killed one after the other and come back: what a client was told stays true.

// moves is how many connections are lost under each test.
const moves = 2

// write writes once whatever happens: what a lost connection leaves unknown, the version tells.
func write(conn *zk.Conn, path string, version int32) {
	next := strconv.Itoa(int(version) + 1)
	for {
		_, err := conn.Set(path, []byte(next), version)
		if err == nil {
			return
		}
		check(lost(err) || err == zk.ErrBadVersion, "%v over version %v of %s", err, version, path)
		data, stat := read(conn, path)
		if stat.Version == version+1 {
			equal(data, next)
			return
		}
		equal(stat.Version, version)
	}
}

func read(conn *zk.Conn, path string) (string, *zk.Stat) {
	for {
		data, stat, err := conn.Get(path)
		if err == nil {
			return string(data), stat
		}
		check(lost(err), "%v of %s", err, path)
	}
}

// lost is how the client says that nobody knows whether a request was heard.
func lost(err error) bool {
	return err == zk.ErrConnectionClosed || err == zk.ErrNoServer
}

var deathTests = group{"deaths", []test{
	{"session-ephemerals-and-writes-stay", func(t *T) {
		session, path := t.zk.SessionID(), t.make(t.path+"/a", "0", zk.FlagPersistent)
		ephemeral := t.make(t.path+"/e", "", zk.FlagEphemeral)
		deadline, version := time.Now().Add(30*time.Second), int32(0)
		for ; t.events.count(zk.StateDisconnected) < moves || version < 100; version++ {
			check(time.Now().Before(deadline), "%v writes", version)
			write(t.zk, path, version)
			_, stat := read(t.zk, ephemeral)
			equal(stat.EphemeralOwner, session)
			_, stat = read(t.zk, path)
			equal(stat.Version, version+1)
		}
		equal(t.zk.SessionID(), session)
		check(!t.events.seen(zk.StateExpired), "expired")
	}},
	{"sequences-have-no-doubles-and-no-losses", func(t *T) {
		made := map[string]bool{}
		deadline := time.Now().Add(30 * time.Second)
		for t.events.count(zk.StateDisconnected) < moves || len(made) < 200 {
			check(time.Now().Before(deadline), "%v nodes", len(made))
			path, err := t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open())
			if err == nil {
				check(!made[path], "%s was made twice", path)
				made[path] = true
			} else {
				check(lost(err), "%v", err)
			}
		}
		var present []string
		await("a list of all", func() (done bool) {
			var err error
			present, _, err = t.zk.Children(t.path)
			return err == nil
		})
		for _, name := range present {
			delete(made, t.path+"/"+name)
		}
		equal(len(made), 0, "acknowledged and lost")
	}},
	{"watches-hear-of-each-change", func(t *T) {
		other, events := t.clientAt(connect, 10*time.Second)
		path, deadline := t.make(t.path+"/a", "0", zk.FlagPersistent), time.Now().Add(30*time.Second)
		for version := int32(0); events.count(zk.StateDisconnected) < moves || version < 50; version++ {
			check(time.Now().Before(deadline), "%v writes", version)
			var changed <-chan zk.Event
			await("a watch on what was written", func() bool {
				_, stat, watch, err := t.zk.GetW(path)
				changed = watch
				return err == nil && stat.Version == version
			})
			write(other, path, version)
			select {
			case <-changed:
			case <-time.After(waitMax):
				fail("no news of version %v", version+1)
			}
		}
	}},
}}
