package main

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var nodeTests = group{"nodes", []test{
	{"create", func(t *T) {
		path := t.node("a", "four")
		equal(path, t.path+"/a")
		data, stat, err := t.zk.Get(path)
		ok(err)
		equal(string(data), "four")
		equal(stat.DataLength, int32(4))
		equal(stat.Version+stat.Cversion+stat.Aversion+stat.NumChildren, int32(0))
		equal([]int64{stat.Mzxid, stat.Pzxid}, []int64{stat.Czxid, stat.Czxid})
		equal(stat.Mtime, stat.Ctime)
		check(math.Abs(float64(stat.Ctime-time.Now().UnixMilli())) < 60_000, "created at %d", stat.Ctime)
	}},
	{"create-refusals", func(t *T) {
		t.node("a", "")
		_, err := t.zk.Create(t.path+"/a", nil, 0, open())
		refused(err, zk.ErrNodeExists)
		_, err = t.zk.Create(t.path+"/none/a", nil, 0, open())
		refused(err, zk.ErrNoNode)
		must(t.zk.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		_, err = t.zk.Create(t.path+"/e/a", nil, 0, open())
		refused(err, zk.ErrNoChildrenForEphemerals)
		_, err = t.zk.Create(t.path+"/x", nil, 0, nil)
		refused(err, zk.ErrInvalidACL)
	}},
	{"every-create-mode", func(t *T) {
		equal(must(t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open())), t.path+"/n-0000000000")
		equal(must(t.zk.Create(t.path+"/n-", nil, zk.FlagEphemeralSequential, open())), t.path+"/n-0000000001")
		equal(must(t.zk.CreateContainer(t.path+"/c", nil, zk.FlagContainer, open())), t.path+"/c")
		equal(must(t.zk.CreateTTL(t.path+"/t", nil, zk.FlagTTL, open(), time.Hour)), t.path+"/t")
		equal(must(t.zk.CreateTTL(t.path+"/t-", nil, zk.FlagPersistentSequentialWithTTL, open(), time.Hour)),
			t.path+"/t-0000000004")
		_, stat, err := t.zk.Exists(t.path + "/t")
		ok(err)
		equal(stat.EphemeralOwner, int64(0))
	}},
	{"ephemeral-owner", func(t *T) {
		path := must(t.zk.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		_, stat, err := t.zk.Exists(path)
		ok(err)
		equal(stat.EphemeralOwner, t.zk.SessionID())
	}},
	{"ephemeral-leaves-with-its-session", func(t *T) {
		other := t.client()
		path := must(other.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		check(!t.gone(path), "not created")
		other.Close()
		await("the ephemeral's end", func() bool { return t.gone(path) })
	}},
	{"protected-ephemeral-sequential", func(t *T) {
		path := must(t.zk.CreateProtectedEphemeralSequential(t.path+"/lock-", nil, open()))
		check(strings.Contains(path, "_c_") && strings.HasSuffix(path, "-lock-0000000000"), "%s", path)
	}},
	{"container-is-reaped", func(t *T) {
		if !extra("containerCheck") {
			panic(skip("the server looks for containers once a minute"))
		}
		path := must(t.zk.CreateContainer(t.path+"/c", nil, zk.FlagContainer, open()))
		t.node("c/child", "")
		ok(t.zk.Delete(path+"/child", -1))
		await("the container's end", func() bool { return t.gone(path) })
	}},
	{"ttl-node-ends", func(t *T) {
		if !extra("containerCheck") {
			panic(skip("the server looks for TTL nodes once a minute"))
		}
		path := must(t.zk.CreateTTL(t.path+"/t", nil, zk.FlagTTL, open(), 200*time.Millisecond))
		await("the node's end", func() bool { return t.gone(path) })
	}},
	{"sequence-counts-creations", func(t *T) {
		ok(t.zk.Delete(t.node("plain", ""), -1))
		equal(must(t.zk.Create(t.path+"/", nil, zk.FlagSequence, open())), t.path+"/0000000001")
		equal(must(t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open())), t.path+"/n-0000000002")
	}},
	{"set", func(t *T) {
		path := t.node("a", "old")
		stat := must(t.zk.Set(path, []byte("newer"), 0))
		equal(stat.Version, int32(1))
		equal(stat.DataLength, int32(5))
		check(stat.Mzxid > stat.Czxid, "%+v", stat)
		_, err := t.zk.Set(path, nil, 0)
		refused(err, zk.ErrBadVersion)
		_, err = t.zk.Set(t.path+"/none", nil, -1)
		refused(err, zk.ErrNoNode)
		equal(t.data(path), "newer")
	}},
	{"delete", func(t *T) {
		path := t.node("a", "")
		t.node("a/b", "")
		refused(t.zk.Delete(path, -1), zk.ErrNotEmpty)
		refused(t.zk.Delete(path+"/b", 5), zk.ErrBadVersion)
		ok(t.zk.Delete(path+"/b", 0))
		ok(t.zk.Delete(path, -1))
		refused(t.zk.Delete(path, -1), zk.ErrNoNode)
		for _, system := range []string{"/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
			refused(t.zk.Delete(system, -1), zk.ErrBadArguments)
		}
	}},
	{"reads-of-nothing", func(t *T) {
		exists, _, err := t.zk.Exists(t.path + "/none")
		ok(err)
		check(!exists, "exists")
		_, _, err = t.zk.Get(t.path + "/none")
		refused(err, zk.ErrNoNode)
		_, _, err = t.zk.Children(t.path + "/none")
		refused(err, zk.ErrNoNode)
		_, _, err = t.zk.GetACL(t.path + "/none")
		refused(err, zk.ErrNoNode)
	}},
	{"null-and-empty-data", func(t *T) {
		null := must(t.zk.Create(t.path+"/null", nil, 0, open()))
		empty := must(t.zk.Create(t.path+"/empty", []byte{}, 0, open()))
		data, _, err := t.zk.Get(null)
		ok(err)
		check(data == nil, "null came back as %#v", data)
		data, _, err = t.zk.Get(empty)
		ok(err)
		check(data != nil && len(data) == 0, "empty came back as %#v", data)
	}},
	{"big-value", func(t *T) {
		value := bytes.Repeat([]byte("0123456789abcdef"), 65_000)
		path := must(t.zk.Create(t.path+"/big", value, 0, open()))
		data, stat, err := t.zk.Get(path)
		ok(err)
		check(bytes.Equal(data, value), "changed on its way")
		equal(int(stat.DataLength), len(value))
	}},
	{"children", func(t *T) {
		for _, name := range []string{"c", "a", "b"} {
			t.node(name, "")
		}
		ok(t.zk.Delete(t.path+"/b", -1))
		children, stat, err := t.zk.Children(t.path)
		ok(err)
		sort.Strings(children)
		equal(children, []string{"a", "c"})
		equal([]int32{stat.NumChildren, stat.Cversion, stat.Version}, []int32{2, 4, 0})
	}},
	{"thousands-of-children", func(t *T) {
		var group sync.WaitGroup
		for n := 0; n < 3000; n++ {
			group.Add(1)
			go func(n int) {
				defer group.Done()
				_, _ = t.zk.Create(fmt.Sprintf("%s/a-rather-long-name-%d", t.path, n), nil, 0, open())
			}(n)
		}
		group.Wait()
		children, _, err := t.zk.Children(t.path)
		ok(err)
		equal(len(children), 3000)
	}},
	{"unicode-names", func(t *T) {
		for _, name := range []string{"käse", "中文", "документ", "a b", "%2F"} {
			equal(t.data(t.node(name, name)), name)
		}
		children, _, err := t.zk.Children(t.path)
		ok(err)
		equal(len(children), 5)
	}},
	{"sync", func(t *T) {
		path, other := t.node("a", ""), t.client()
		for n := 0; n < 50; n++ {
			must(t.zk.Set(path, []byte(fmt.Sprint(n)), -1))
			equal(must(other.Sync(path)), path)
			data, _, err := other.Get(path)
			ok(err)
			equal(string(data), fmt.Sprint(n))
		}
	}},
	{"in-flight", func(t *T) {
		path := t.node("a", "")
		var group sync.WaitGroup
		versions := make([]bool, 2001)
		var lock sync.Mutex
		for n := 0; n < 2000; n++ {
			group.Add(1)
			go func() {
				defer group.Done()
				if stat, err := t.zk.Set(path, []byte("x"), -1); err == nil {
					lock.Lock()
					versions[stat.Version] = true
					lock.Unlock()
				}
			}()
		}
		group.Wait()
		for version := 1; version <= 2000; version++ {
			check(versions[version], "version %d was given to nobody", version)
		}
	}},
	{"compare-and-set-races", func(t *T) {
		path := t.node("n", "0")
		var group sync.WaitGroup
		for n := 0; n < 6; n++ {
			conn := t.client()
			group.Add(1)
			go func() {
				defer group.Done()
				for done := 0; done < 20; {
					data, stat, err := conn.Get(path)
					if err != nil {
						return
					}
					var value int
					_, _ = fmt.Sscan(string(data), &value)
					if _, err = conn.Set(path, []byte(fmt.Sprint(value+1)), stat.Version); err == nil {
						done++
					}
				}
			}()
		}
		group.Wait()
		equal(t.data(path), "120")
	}},
	{"configuration-node", func(t *T) {
		_, _, err := t.zk.Get("/zookeeper/config")
		ok(err)
		_, err = t.zk.IncrementalReconfig([]string{"server.9=127.0.0.1:1:2;3"}, nil, -1)
		check(err != nil, "reconfigured")
	}},
	{"four-letter-words", func(t *T) {
		equal(zk.FLWRuok([]string{connect}, time.Second), []bool{true})
		// What the client's FLWSrvr and FLWCons expect, 3.9 does not print (dates, its own connection).
		for _, word := range []string{"srvr", "stat", "mntr", "conf", "cons", "envi", "wchs", "dump"} {
			check(len(fourLetterWord(connect, word)) > 20, "%s: %q", word, fourLetterWord(connect, word))
		}
	}},
}}
