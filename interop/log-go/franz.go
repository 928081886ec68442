package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var franzTests = group{name: "franz.records", tests: []test{
	{"values_are_read_back_in_order", func(t *T) {
		topic := t.topic(1)
		for place, record := range t.send(t.client(), topic, 3000) {
			equal(record.Offset, int64(place))
		}
		for place, value := range values(t.readAll(topic)) {
			equal(value, fmt.Sprint(place))
		}
	}},
	{"every_compression_and_acks_is_read_back", func(t *T) {
		codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
			"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
		for name, codec := range codecs {
			topic := t.topic(1)
			t.send(t.client(kgo.ProducerBatchCompression(codec)), topic, 500)
			t.send(t.client(kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(codec)), topic, 500)
			t.send(t.client(kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(codec)), topic, 500)
			await("all of "+name, func() bool { return len(t.readAll(topic)) == 1500 })
		}
	}},
	{"keys_headers_times_and_nulls_are_kept", func(t *T) {
		topic, client := t.topic(1), t.client()
		when := time.UnixMilli(time.Now().UnixMilli() - 5000)
		full := &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v"), Timestamp: when,
			Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}}}
		ok(client.ProduceSync(t.ctx, full, &kgo.Record{Topic: topic, Key: []byte("k")}, &kgo.Record{Topic: topic, Value: []byte{}}).FirstErr())
		records := t.readAll(topic)
		equal(records[0].Headers, full.Headers)
		check(records[0].Timestamp.Equal(when), "time %v", records[0].Timestamp)
		check(records[1].Value == nil && string(records[1].Key) == "k", "a tombstone")
		check(records[2].Key == nil && records[2].Value != nil && len(records[2].Value) == 0, "an empty value")
	}},
	{"too_large_a_record_is_refused", func(t *T) {
		topic := t.topic(1, "max.message.bytes", "10000")
		client := t.client(kgo.ProducerBatchMaxBytes(1_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
		err := client.ProduceSync(t.ctx, &kgo.Record{Topic: topic, Value: make([]byte, 20000)}).FirstErr()
		check(errors.Is(err, kerr.MessageTooLarge), "%v", err)
	}},
	{"offsets_are_found_by_time", func(t *T) {
		topic, client := t.topic(1), t.client()
		begin := time.Now().UnixMilli() - 1_000_000
		for number := range int64(50) {
			client.Produce(t.ctx, &kgo.Record{Topic: topic, Timestamp: time.UnixMilli(begin + number*1000)}, nil)
		}
		ok(client.Flush(t.ctx))
		for after, offset := range map[int64]int64{-1: 0, 1: 1, 20_500: 21, 49_000: 49} {
			found := must(t.admin().ListOffsetsAfterMilli(t.ctx, begin+after, topic))
			at, _ := found.Lookup(topic, 0)
			equal(at.Offset, offset, after)
		}
	}},
	{"reader_begins_anywhere", func(t *T) {
		topic := t.topic(1)
		t.send(t.client(), topic, 100)
		for offset, first := range map[kgo.Offset]string{kgo.NewOffset().At(40): "40", kgo.NewOffset().AtStart(): "0",
			kgo.NewOffset().AtEnd().Relative(-3): "97"} {
			reader := t.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: offset}}))
			equal(string(t.take(reader, 1)[0].Value), first)
		}
	}},
}}

// subscribed is a member of a group that reads from the start.
func (t *T) subscribed(group, topic string, options ...kgo.Opt) *kgo.Client {
	return t.client(append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6 * time.Second),
		kgo.HeartbeatInterval(300 * time.Millisecond)}, options...)...)
}

// shared polls members until they have all partitions between them, and all records were read.
func shared(t *T, topic, group string, options ...kgo.Opt) {
	members := []*kgo.Client{t.subscribed(group, topic, options...), t.subscribed(group, topic, options...), t.subscribed(group, topic, options...)}
	seen := map[string]bool{}
	for _, member := range members {
		polling, stop := context.WithCancel(t.ctx)
		defer stop()
		go func() {
			for polling.Err() == nil {
				member.PollFetches(polling)
			}
		}()
	}
	admin := t.admin()
	await("three members with two partitions each", func() bool {
		lags, err := admin.Lag(t.ctx, group)
		return err == nil && balanced(lags[group])
	})
	for _, record := range t.send(t.client(), topic, 300) {
		seen[string(record.Value)] = true
	}
	await("each member's commit", func() bool {
		for _, member := range members {
			if member.CommitUncommittedOffsets(t.ctx) != nil {
				return false
			}
		}
		lags, err := admin.Lag(t.ctx, group)
		return err == nil && lags[group].Lag.Total() == 0
	})
}

func balanced(group kadm.DescribedGroupLag) bool {
	if group.State != "Stable" || len(group.Members) != 3 {
		return false
	}
	count := 0
	for _, member := range group.Members {
		assigned, _ := member.Assigned.AsConsumer()
		if assigned == nil || len(assigned.Topics) != 1 || len(assigned.Topics[0].Partitions) != 2 {
			return false
		}
		count += len(assigned.Topics[0].Partitions)
	}
	return count == 6
}

var franzGroupTests = group{name: "franz.groups", tests: []test{
	{"every_balancer_shares_the_partitions", func(t *T) {
		for name, balancer := range map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
			"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer()} {
			shared(t, t.topic(6), t.fresh(name), kgo.Balancers(balancer))
		}
	}},
	{"group_goes_on_where_it_was", func(t *T) {
		topic, group := t.topic(1), t.fresh("group")
		t.send(t.client(), topic, 90)
		for round := range 3 {
			member := t.subscribed(group, topic)
			records := member.PollRecords(t.ctx, 30).Records()
			equal(string(records[0].Value), fmt.Sprint(round*30))
			ok(member.CommitRecords(t.ctx, records...))
			member.Close()
		}
	}},
	{"static_member_comes_back", func(t *T) {
		topic, group := t.topic(2), t.fresh("group")
		t.send(t.client(), topic, 10)
		first := t.subscribed(group, topic, kgo.InstanceID("one"))
		t.take(first, 10)
		generation := must(t.admin().DescribeGroups(t.ctx, group))[group]
		first.Close()
		second := t.subscribed(group, topic, kgo.InstanceID("one"))
		t.take(second, 10)
		again := must(t.admin().DescribeGroups(t.ctx, group))[group]
		equal(len(again.Members), 1)
		equal(*again.Members[0].InstanceID, "one")
		check(again.Members[0].MemberID != generation.Members[0].MemberID, "a new member id")
	}},
	{"transactions_are_all_or_nothing", func(t *T) {
		topic := t.topic(2)
		client := t.client(kgo.TransactionalID(t.fresh("tx")), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		var expected []string
		for number := range 10 {
			ok(client.BeginTransaction())
			for part := range 4 {
				client.Produce(t.ctx, &kgo.Record{Topic: topic, Value: []byte(fmt.Sprintf("%d.%d", number, part))}, nil)
				if number%2 == 0 {
					expected = append(expected, fmt.Sprintf("%d.%d", number, part))
				}
			}
			ok(client.Flush(t.ctx))
			ok(client.EndTransaction(t.ctx, kgo.TransactionEndTry(number%2 == 0)))
		}
		found := values(t.readAll(topic))
		sort.Strings(found)
		sort.Strings(expected)
		equal(found, expected)
	}},
	{"session_of_a_group_reads_processes_and_writes_once", func(t *T) {
		from, to, group := t.topic(2), t.topic(1), t.fresh("group")
		t.send(t.client(), from, 200)
		session := must(kgo.NewGroupTransactSession(kgo.SeedBrokers(connect), kgo.TransactionalID(t.fresh("tx")), kgo.ConsumerGroup(group),
			kgo.ConsumeTopics(from), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted())))
		t.closing(session.Close)
		for done, round := 0, 0; done < 200; round++ {
			fetches := session.PollRecords(t.ctx, 50)
			records := fetches.Records()
			if len(records) == 0 {
				continue
			}
			ok(session.Begin())
			for _, record := range records {
				session.Produce(t.ctx, &kgo.Record{Topic: to, Value: record.Value}, nil)
			}
			committed := must(session.End(t.ctx, kgo.TransactionEndTry(round != 1)))
			equal(committed, round != 1)
			if committed {
				done += len(records)
			}
		}
		found := values(t.readAll(to))
		equal(len(found), 200)
		sort.Strings(found)
		equal(len(slices.Compact(found)), 200)
	}},
}}

var franzAdminTests = group{name: "franz.admin", tests: []test{
	{"topics_are_described_grown_and_deleted", func(t *T) {
		topic, admin := t.topic(2, "retention.ms", "7000"), t.admin()
		details := must(admin.ListTopics(t.ctx, topic))
		equal(len(details[topic].Partitions), 2)
		check(details[topic].ID != kadm.TopicID{}, "a topic id")
		must(admin.UpdatePartitions(t.ctx, 4, topic))
		await("four", func() bool { return len(must(admin.ListTopics(t.ctx, topic))[topic].Partitions) == 4 })
		configs := must(admin.DescribeTopicConfigs(t.ctx, topic))
		value := ""
		for _, config := range configs[0].Configs {
			if config.Key == "retention.ms" {
				value = config.MaybeValue()
			}
		}
		equal(value, "7000")
		must(admin.AlterTopicConfigs(t.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("8000")}}, topic))
		must(admin.DeleteTopic(t.ctx, topic))
		await("its end", func() bool {
			return errors.Is(must(admin.ListTopics(t.ctx, topic))[topic].Err, kerr.UnknownTopicOrPartition)
		})
		_, err := admin.CreateTopic(t.ctx, 1, 3, nil, topic+"x")
		check(errors.Is(err, kerr.InvalidReplicationFactor), "%v", err)
	}},
	{"records_are_deleted", func(t *T) {
		topic, admin := t.topic(1), t.admin()
		t.send(t.client(), topic, 100)
		offsets := kadm.Offsets{}
		offsets.AddOffset(topic, 0, 60, -1)
		must(admin.DeleteRecords(t.ctx, offsets))
		equal(values(t.readAll(topic))[0], "60")
	}},
	{"offsets_of_groups_are_set_and_groups_deleted", func(t *T) {
		topic, group, admin := t.topic(1), t.fresh("group"), t.admin()
		offsets := kadm.Offsets{}
		offsets.AddOffset(topic, 0, 7, -1)
		ok(admin.CommitAllOffsets(t.ctx, group, offsets))
		at, _ := must(admin.FetchOffsets(t.ctx, group)).Lookup(topic, 0)
		equal(at.At, int64(7))
		check(slices.Contains(must(admin.ListGroups(t.ctx)).Groups(), group), "it is listed")
		must(admin.DeleteGroups(t.ctx, group))
		check(!slices.Contains(must(admin.ListGroups(t.ctx)).Groups(), group), "it is gone")
	}},
	{"cluster_is_described", func(t *T) {
		admin, topic := t.admin(), t.topic(1)
		metadata := must(admin.BrokerMetadata(t.ctx))
		equal(len(metadata.Brokers), 1)
		equal(len(metadata.Cluster), 22)
		versions := must(admin.ApiVersions(t.ctx))
		equal(len(versions), 1)
		dirs := must(admin.DescribeAllLogDirs(t.ctx, nil))
		check(onDisk(dirs, topic), "the topic is on the disk")
		must(admin.DescribeProducers(t.ctx, kadm.TopicsSet{topic: {0: {}}}))
		must(admin.ListTransactions(t.ctx, nil, nil))
		_, err := admin.DescribeACLs(t.ctx, kadm.NewACLs().AnyResource().Allow().AllowHosts().Deny().DenyHosts().
			Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny))
		check(err == nil || strings.Contains(err.Error(), "SECURITY_DISABLED"), "%v", err)
	}},
}}

func onDisk(brokers kadm.DescribedAllLogDirs, topic string) bool {
	for _, dirs := range brokers {
		for _, dir := range dirs {
			if _, there := dir.Topics[topic]; there {
				return true
			}
		}
	}
	return false
}
