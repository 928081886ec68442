package main

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

func creation(path string, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: []byte("new"), Acl: open(), Flags: flags}
}

// codes are the errors of a failed transaction, in order.
func codes(responses []zk.MultiResponse) (errors []error) {
	for _, response := range responses {
		errors = append(errors, response.Error)
	}
	return
}

var transactionTests = group{"transactions", []test{
	{"every-kind", func(t *T) {
		path := t.node("a", "old")
		responses, err := t.zk.Multi(
			creation(t.path+"/b", zk.FlagPersistent),
			&zk.CheckVersionRequest{Path: path, Version: 0},
			&zk.SetDataRequest{Path: path, Data: []byte("newer"), Version: 0},
			&zk.DeleteRequest{Path: t.path + "/b", Version: -1},
			creation(t.path+"/n-", zk.FlagEphemeralSequential))
		ok(err)
		equal(len(responses), 5)
		equal(responses[0].String, t.path+"/b")
		equal(responses[2].Stat.Version, int32(1))
		equal(responses[4].String, t.path+"/n-0000000002")
		equal(t.data(path), "newer")
	}},
	{"one-zxid", func(t *T) {
		_, err := t.zk.Multi(creation(t.path+"/a", 0), creation(t.path+"/a/b", 0))
		ok(err)
		_, a, err := t.zk.Exists(t.path + "/a")
		ok(err)
		_, b, err := t.zk.Exists(t.path + "/a/b")
		ok(err)
		equal([]int64{b.Czxid, a.Pzxid}, []int64{a.Czxid, a.Czxid})
	}},
	{"failure-undoes-everything", func(t *T) {
		path := t.node("a", "old")
		responses, err := t.zk.Multi(
			&zk.SetDataRequest{Path: path, Data: []byte("new"), Version: -1},
			&zk.CheckVersionRequest{Path: path, Version: 7},
			&zk.DeleteRequest{Path: path, Version: -1})
		refused(err, zk.ErrBadVersion)
		equal(len(responses), 3)
		equal(responses[0].Error, nil)
		equal(responses[1].Error, zk.ErrBadVersion)
		check(responses[2].Error != nil, "the operation behind the failing one: %+v", responses[2])
		equal(t.data(path), "old")
	}},
	{"failures-by-kind", func(t *T) {
		path := t.node("a", "")
		t.node("a/b", "")
		for _, each := range []struct {
			operation any
			expected  error
		}{
			{creation(path, 0), zk.ErrNodeExists},
			{creation(t.path+"/none/x", 0), zk.ErrNoNode},
			{&zk.DeleteRequest{Path: path, Version: -1}, zk.ErrNotEmpty},
			{&zk.DeleteRequest{Path: path, Version: 4}, zk.ErrBadVersion},
			{&zk.SetDataRequest{Path: t.path + "/none", Version: -1}, zk.ErrNoNode},
			{&zk.CheckVersionRequest{Path: t.path + "/none", Version: -1}, zk.ErrNoNode},
		} {
			responses, err := t.zk.Multi(each.operation)
			refused(err, each.expected)
			equal(codes(responses), []error{each.expected})
		}
	}},
	{"failure-uses-no-sequence-number", func(t *T) {
		for n := 0; n < 3; n++ {
			_, err := t.zk.Multi(creation(t.path+"/n-", zk.FlagSequence),
				&zk.CheckVersionRequest{Path: t.path + "/none", Version: 0})
			refused(err, zk.ErrNoNode)
		}
		equal(must(t.zk.Create(t.path+"/n-", nil, zk.FlagSequence, open())), t.path+"/n-0000000000")
	}},
	{"hundreds", func(t *T) {
		var operations []any
		for n := 0; n < 500; n++ {
			operations = append(operations, creation(fmt.Sprintf("%s/n%d", t.path, n), 0))
		}
		responses, err := t.zk.Multi(operations...)
		ok(err)
		equal(len(responses), 500)
		_, stat, err := t.zk.Children(t.path)
		ok(err)
		equal(stat.NumChildren, int32(500))
	}},
	{"empty", func(t *T) {
		responses, err := t.zk.Multi()
		ok(err)
		equal(len(responses), 0)
	}},
}}
