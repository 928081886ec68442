package main

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// told waits for the watch to fire and makes sure of what it says.
func told(watch <-chan zk.Event, kind zk.EventType, path string) {
	select {
	case event := <-watch:
		equal(fmt.Sprint(event.Type, " ", event.Path, " ", event.Err), fmt.Sprint(kind, " ", path, " ", nil))
	case <-time.After(waitMax):
		fail("not told of %v %s", kind, path)
	}
}

func quiet(watch <-chan zk.Event) {
	select {
	case event := <-watch:
		fail("told of %+v", event)
	default:
	}
}

func watchData(conn *zk.Conn, path string) <-chan zk.Event {
	_, _, watch, err := conn.GetW(path)
	ok(err)
	return watch
}

func watchExists(conn *zk.Conn, path string) <-chan zk.Event {
	_, _, watch, err := conn.ExistsW(path)
	ok(err)
	return watch
}

func watchChildren(conn *zk.Conn, path string) <-chan zk.Event {
	_, _, watch, err := conn.ChildrenW(path)
	ok(err)
	return watch
}

var watchTests = group{"watches", []test{
	{"data", func(t *T) {
		path := t.node("a", "")
		watch := watchData(t.zk, path)
		must(t.zk.Set(path, nil, -1))
		told(watch, zk.EventNodeDataChanged, path)
		watch = watchData(t.zk, path)
		ok(t.zk.Delete(path, -1))
		told(watch, zk.EventNodeDeleted, path)
	}},
	{"exists", func(t *T) {
		path := t.path + "/a"
		watch := watchExists(t.zk, path)
		t.node("a", "")
		told(watch, zk.EventNodeCreated, path)
		watch = watchExists(t.zk, path)
		must(t.zk.Set(path, nil, -1))
		told(watch, zk.EventNodeDataChanged, path)
		watch = watchExists(t.zk, path)
		ok(t.zk.Delete(path, -1))
		told(watch, zk.EventNodeDeleted, path)
	}},
	{"children", func(t *T) {
		watch := watchChildren(t.zk, t.path)
		path := t.node("a", "")
		told(watch, zk.EventNodeChildrenChanged, t.path)
		watch = watchChildren(t.zk, t.path)
		must(t.zk.Set(path, nil, -1))
		t.node("a/b", "")
		must(t.zk.Sync(t.path))
		quiet(watch)
		ok(t.zk.Delete(path+"/b", -1))
		ok(t.zk.Delete(path, -1))
		told(watch, zk.EventNodeChildrenChanged, t.path)
		watch = watchChildren(t.zk, t.path)
		ok(t.zk.Delete(t.path, -1))
		told(watch, zk.EventNodeDeleted, t.path)
	}},
	{"one-shot", func(t *T) {
		path := t.node("a", "")
		first := watchData(t.zk, path)
		must(t.zk.Set(path, nil, -1))
		told(first, zk.EventNodeDataChanged, path)
		must(t.zk.Set(path, nil, -1))
		must(t.zk.Sync(path))
		event, open := <-first
		check(!open, "told again of %+v", event)
	}},
	{"get-of-nothing-leaves-none", func(t *T) {
		_, _, _, err := t.zk.GetW(t.path + "/none")
		refused(err, zk.ErrNoNode)
		_, _, _, err = t.zk.ChildrenW(t.path + "/none")
		refused(err, zk.ErrNoNode)
	}},
	{"others-changes", func(t *T) {
		other := t.client()
		path := must(other.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		node, parent := watchExists(t.zk, path), watchChildren(t.zk, t.path)
		other.Close()
		told(node, zk.EventNodeDeleted, path)
		told(parent, zk.EventNodeChildrenChanged, t.path)
	}},
	{"transaction", func(t *T) {
		a := t.node("a", "")
		changed, created := watchData(t.zk, a), watchExists(t.zk, t.path+"/b")
		_, err := t.zk.Multi(&zk.SetDataRequest{Path: a, Version: -1}, creation(t.path+"/b", 0))
		ok(err)
		told(changed, zk.EventNodeDataChanged, a)
		told(created, zk.EventNodeCreated, t.path+"/b")
	}},
	{"thousands", func(t *T) {
		var watches []<-chan zk.Event
		for n := 0; n < 1000; n++ {
			watches = append(watches, watchExists(t.zk, fmt.Sprintf("%s/n%d", t.path, n)))
		}
		other := t.client()
		for n := range watches {
			go func(n int) { _, _ = other.Create(fmt.Sprintf("%s/n%d", t.path, n), nil, 0, open()) }(n)
		}
		for n, watch := range watches {
			told(watch, zk.EventNodeCreated, fmt.Sprintf("%s/n%d", t.path, n))
		}
	}},
	{"reconnection-tells-what-changed", func(t *T) {
		door := t.proxy()
		conn, events := t.clientAt(door.address, 10*time.Second)
		for _, name := range []string{"set", "deleted", "same", "parent"} {
			t.node(name, "")
		}
		set, deleted := watchData(conn, t.path+"/set"), watchData(conn, t.path+"/deleted")
		same, created := watchData(conn, t.path+"/same"), watchExists(conn, t.path+"/created")
		children := watchChildren(conn, t.path+"/parent")
		door.shut()
		events.await(zk.StateDisconnected)
		must(t.zk.Set(t.path+"/set", nil, -1))
		ok(t.zk.Delete(t.path+"/deleted", -1))
		t.node("created", "")
		t.node("parent/child", "")
		door.reopen()
		told(set, zk.EventNodeDataChanged, t.path+"/set")
		told(deleted, zk.EventNodeDeleted, t.path+"/deleted")
		told(created, zk.EventNodeCreated, t.path+"/created")
		told(children, zk.EventNodeChildrenChanged, t.path+"/parent")
		quiet(same)
		must(t.zk.Set(t.path+"/same", nil, -1))
		told(same, zk.EventNodeDataChanged, t.path+"/same")
	}},
}}
