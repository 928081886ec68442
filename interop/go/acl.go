package main

import (
	"github.com/go-zookeeper/zk"
)

const alice = "alice:wonder"

func hers() []zk.ACL { return zk.DigestACL(zk.PermAll, "alice", "wonder") }

var aclTests = group{"acl", []test{
	{"set-and-get", func(t *T) {
		path := t.node("a", "")
		acl, stat, err := t.zk.GetACL(path)
		ok(err)
		equal(acl, open())
		equal(stat.Aversion, int32(0))
		equal(must(t.zk.SetACL(path, zk.WorldACL(zk.PermRead|zk.PermAdmin), 0)).Aversion, int32(1))
		_, err = t.zk.SetACL(path, open(), 0)
		refused(err, zk.ErrBadVersion)
		_, err = t.zk.Set(path, nil, -1)
		refused(err, zk.ErrNoAuth)
	}},
	{"invalid-lists", func(t *T) {
		for _, each := range []zk.ACL{{Perms: 31, Scheme: "nonsense", ID: "x"}, {Perms: 31, Scheme: "world", ID: "bob"},
			{Perms: 31, Scheme: "ip", ID: "1.2"}, {Perms: 31, Scheme: "digest", ID: "x"}, {Perms: 31, Scheme: "auth"}} {
			_, err := t.zk.Create(t.path+"/a", nil, 0, []zk.ACL{each})
			refused(err, zk.ErrInvalidACL)
		}
	}},
	{"each-permission", func(t *T) {
		super, path := t.as("super:secret"), t.node("a", "")
		t.node("a/child", "")
		for permission, action := range map[int32]func() error{
			zk.PermRead:   func() error { _, _, err := t.zk.Get(path); return err },
			zk.PermWrite:  func() error { _, err := t.zk.Set(path, nil, -1); return err },
			zk.PermCreate: func() error { _, err := t.zk.Create(path+"/n", nil, zk.FlagEphemeralSequential, open()); return err },
			zk.PermDelete: func() error { return t.zk.Delete(path+"/child", -1) },
			zk.PermAdmin:  func() error { _, err := t.zk.SetACL(path, open(), -1); return err },
		} {
			must(super.SetACL(path, zk.WorldACL(zk.PermAll&^permission), -1))
			refused(action(), zk.ErrNoAuth)
			must(super.SetACL(path, zk.WorldACL(permission), -1))
			ok(action())
		}
	}},
	{"digest-locks-others-out", func(t *T) {
		path := must(t.as(alice).Create(t.path+"/hers", []byte("secret"), 0, hers()))
		_, _, err := t.zk.Get(path)
		refused(err, zk.ErrNoAuth)
		_, _, err = t.as("alice:guess").Get(path)
		refused(err, zk.ErrNoAuth)
		ok(t.zk.AddAuth("digest", []byte(alice)))
		equal(t.data(path), "secret")
	}},
	{"auth-is-the-creator", func(t *T) {
		conn := t.as(alice)
		path := must(conn.Create(t.path+"/hers", nil, 0, zk.AuthACL(zk.PermAll)))
		acl, _, err := conn.GetACL(path)
		ok(err)
		equal(acl, hers())
	}},
	{"addresses", func(t *T) {
		path := must(t.zk.Create(t.path+"/mine", []byte("x"), 0, []zk.ACL{{Perms: 31, Scheme: "ip", ID: "127.0.0.0/8"}}))
		equal(t.data(path), "x")
		path = must(t.zk.Create(t.path+"/theirs", nil, 0, []zk.ACL{{Perms: 31, Scheme: "ip", ID: "10.0.0.1"}}))
		_, _, err := t.zk.Get(path)
		refused(err, zk.ErrNoAuth)
	}},
	{"superuser", func(t *T) {
		path := must(t.zk.Create(t.path+"/a", nil, 0, hers()))
		must(t.as("super:secret").Set(path, []byte("x"), -1))
		_, err := t.as("super:guess").Set(path, nil, -1)
		refused(err, zk.ErrNoAuth)
	}},
	{"unknown-scheme", func(t *T) {
		conn := t.client()
		check(conn.AddAuth("nonsense", []byte("x")) != nil, "accepted")
	}},
	{"identity-survives-reconnection", func(t *T) {
		door := t.proxy()
		conn, events := t.clientAt(door.address, 10e9)
		ok(conn.AddAuth("digest", []byte(alice)))
		path := must(conn.Create(t.path+"/hers", nil, 0, hers()))
		door.shut()
		events.await(zk.StateDisconnected)
		door.reopen()
		await("reconnection", func() bool { return events.count(zk.StateHasSession) == 2 })
		_, _, err := conn.Get(path)
		ok(err)
	}},
}}
