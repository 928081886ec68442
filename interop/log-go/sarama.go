package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func (t *T) saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_0_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Metadata.Retry.Max = 100
	return config
}

func (t *T) syncProducer(config *sarama.Config) sarama.SyncProducer {
	producer := must(sarama.NewSyncProducer([]string{connect}, config))
	t.closing(func() { _ = producer.Close() })
	return producer
}

func saramaSend(producer sarama.SyncProducer, topic string, count int) {
	messages := make([]*sarama.ProducerMessage, count)
	for number := range messages {
		messages[number] = &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprint(number)), Value: sarama.StringEncoder(fmt.Sprint(number))}
	}
	ok(producer.SendMessages(messages))
}

// A handler keeps the values that a member of a group was given.
type handler struct {
	lock   sync.Mutex
	values map[string]int
	claims map[int32]bool
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.claims = map[int32]bool{}
	for _, partitions := range session.Claims() {
		for _, partition := range partitions {
			h.claims[partition] = true
		}
	}
	return nil
}
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			h.lock.Lock()
			h.values[string(message.Value)]++
			h.lock.Unlock()
			session.MarkMessage(message, "")
			// A commit waits behind the fetch that is on its way on the same connection: one for each message takes 20 s.
			if len(claim.Messages()) == 0 {
				session.Commit()
			}
		case <-session.Context().Done():
			return nil
		}
	}
}
func (h *handler) counts() (claims, values int) {
	h.lock.Lock()
	defer h.lock.Unlock()
	return len(h.claims), len(h.values)
}

func (t *T) saramaMember(group, topic string, config *sarama.Config) (*handler, func()) {
	member := must(sarama.NewConsumerGroup([]string{connect}, group, config))
	ctx, stop := context.WithCancel(t.ctx)
	h, ended := &handler{values: map[string]int{}}, make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = member.Consume(ctx, []string{topic}, h)
		}
		_ = member.Close()
	}()
	leave := func() { stop(); <-ended }
	t.closing(leave)
	return h, leave
}

func (t *T) saramaShares(strategy sarama.BalanceStrategy) {
	topic, group, config := t.topic(4), t.fresh("group"), t.saramaConfig()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	config.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	first, leave := t.saramaMember(group, topic, config)
	second, _ := t.saramaMember(group, topic, config)
	await("two partitions each", func() bool {
		one, _ := first.counts()
		two, _ := second.counts()
		return one == 2 && two == 2
	})
	saramaSend(t.syncProducer(config), topic, 200)
	await("all values", func() bool {
		_, one := first.counts()
		_, two := second.counts()
		return one+two == 200
	})
	leave()
	await("all partitions", func() bool { claims, _ := second.counts(); return claims == 4 })
}

var saramaTests = group{name: "sarama", tests: []test{
	{"values_of_every_compression_are_read_back", func(t *T) {
		for _, codec := range []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy,
			sarama.CompressionLZ4, sarama.CompressionZSTD} {
			topic, config := t.topic(1), t.saramaConfig()
			config.Producer.Compression = codec
			saramaSend(t.syncProducer(config), topic, 300)
			consumer := must(sarama.NewConsumer([]string{connect}, config))
			t.closing(func() { _ = consumer.Close() })
			reader := must(consumer.ConsumePartition(topic, 0, sarama.OffsetOldest))
			for number := range 300 {
				select {
				case message := <-reader.Messages():
					equal(string(message.Value), fmt.Sprint(number), codec)
					equal(message.Offset, int64(number))
				case <-time.After(waitMax):
					fail("%v: only %d came", codec, number)
				}
			}
		}
	}},
	{"idempotent_producer_is_served", func(t *T) {
		topic, config := t.topic(3), t.saramaConfig()
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
		saramaSend(t.syncProducer(config), topic, 1000)
		equal(len(t.readAll(topic)), 1000)
	}},
	{"too_large_a_message_is_refused", func(t *T) {
		topic, config := t.topic(1, "max.message.bytes", "10000"), t.saramaConfig()
		_, _, err := t.syncProducer(config).SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(make([]byte, 20000))})
		check(errors.Is(err, sarama.ErrMessageSizeTooLarge), "%v", err)
	}},
	{"range_strategy_shares_the_partitions", func(t *T) { t.saramaShares(sarama.NewBalanceStrategyRange()) }},
	{"roundrobin_strategy_shares_the_partitions", func(t *T) { t.saramaShares(sarama.NewBalanceStrategyRoundRobin()) }},
	{"sticky_strategy_shares_the_partitions", func(t *T) { t.saramaShares(sarama.NewBalanceStrategySticky()) }},
	{"transactions_are_all_or_nothing", func(t *T) {
		topic, config := t.topic(1), t.saramaConfig()
		config.Producer.Idempotent = true
		config.Producer.Transaction.ID = t.fresh("tx")
		config.Net.MaxOpenRequests = 1
		producer := t.syncProducer(config)
		for number := range 6 {
			ok(producer.BeginTxn())
			saramaSend(producer, topic, 10)
			if number%2 == 0 {
				ok(producer.CommitTxn())
			} else {
				ok(producer.AbortTxn())
			}
		}
		equal(len(t.readAll(topic)), 30)
	}},
	{"offsets_are_kept_for_a_group", func(t *T) {
		topic, group, config := t.topic(1), t.fresh("group"), t.saramaConfig()
		client := must(sarama.NewClient([]string{connect}, config))
		t.closing(func() { _ = client.Close() })
		offsets := must(sarama.NewOffsetManagerFromClient(group, client))
		partition := must(offsets.ManagePartition(topic, 0))
		partition.MarkOffset(42, "here")
		offsets.Commit()
		ok(offsets.Close())
		again := must(sarama.NewOffsetManagerFromClient(group, client))
		offset, metadata := must(again.ManagePartition(topic, 0)).NextOffset()
		equal(offset, int64(42))
		equal(metadata, "here")
	}},
	{"topics_and_groups_are_administered", func(t *T) {
		admin, topic := must(sarama.NewClusterAdmin([]string{connect}, t.saramaConfig())), t.fresh("topic")
		t.closing(func() { _ = admin.Close() })
		ok(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}, false))
		await("it is there", func() bool {
			details := must(admin.DescribeTopics([]string{topic}))
			return len(details) == 1 && details[0].Err == sarama.ErrNoError && len(details[0].Partitions) == 2
		})
		err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false)
		check(errors.Is(err, sarama.ErrTopicAlreadyExists), "%v", err)
		ok(admin.CreatePartitions(topic, 3, nil, false))
		entries := must(admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic}))
		check(len(entries) >= 30, "%d settings", len(entries))
		value := "7000"
		ok(admin.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
			"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}, false))
		await("three partitions", func() bool {
			details := must(admin.DescribeTopics([]string{topic}))
			return len(details[0].Partitions) == 3
		})
		must(admin.ListConsumerGroups())
		brokers, _, err := admin.DescribeCluster()
		ok(err)
		equal(len(brokers), 1)
		must(admin.DescribeLogDirs([]int32{brokers[0].ID()}))
		ok(admin.DeleteTopic(topic))
	}},
}}
