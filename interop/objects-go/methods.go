package main

import (
	"encoding/json"
	"time"

	"diwan/objects"
)

// Every method of every type, once.
func init() {
	test("methods.counter", counter)
	test("methods.value", value)
	test("methods.map", entries)
	test("methods.set", set)
	test("methods.queue", queue)
	test("methods.stack", stack)
	test("methods.log", log)
	test("methods.ids", ids)
	test("methods.names", records)
	test("methods.ratelimiter", ratelimiter)
	test("methods.latch", latch)
	test("methods.barrier", barrier)
	test("methods.lock", lock)
	test("methods.rwlock", rwlock)
	test("methods.semaphore", semaphore)
	test("methods.membership", membership)
	test("methods.election", election)
	test("methods.objects", described)
}

func text(raw json.RawMessage) string { return string(raw) }

func counter(t *T) {
	c := objects.NewCounter(t.cluster, fresh())
	same(must(c.Create(t, map[string]any{"start": 3, "max": int64(1) << 62})), true)
	same(must(c.Get(t)), int64(3))
	same(must(c.Increment(t)), int64(4))
	same(must(c.Increment(t, objects.CounterIncrementOptions{By: objects.Int(5)})), int64(9))
	same(must(c.Decrement(t)), int64(8))
	same(must(c.Set(t, 10)), objects.CounterSetResult{Value: 10, Previous: 8})
	same(must(c.Swap(t, 20)).Previous, int64(10))
	same(must(c.CompareAndSet(t, 1, 2)).Swapped, false)
	same(must(c.CompareAndSet(t, 20, 1<<60)), objects.CounterCompareAndSetResult{Swapped: true, Value: 1 << 60})
	same(must(c.Get(t, objects.CounterGetOptions{Stale: true})), int64(1<<60))
	_, err := c.Increment(t, objects.CounterIncrementOptions{By: objects.Int(1 << 62)})
	refused("out-of-range", err)
	same(must(c.Await(t, objects.Try, objects.CounterAwaitOptions{AtMost: objects.Int(0)})).Reached, false)
	same(must(c.Await(t, objects.Forever, objects.CounterAwaitOptions{Equals: objects.Int(1 << 60)})).Reached, true)
}

func value(t *T) {
	v := objects.NewValue(t.cluster, fresh())
	first := must(v.Set(t, map[string]any{"a": 1}))
	same(text(must(v.Swap(t, nil)).Previous), `{"a":1}`)
	same(must(v.CompareAndSet(t, "x", objects.ValueCompareAndSetOptions{Version: objects.Int(first.Version)})).Swapped, false)
	same(must(v.AwaitChange(t, objects.Forever, first.Version)).Changed, true)
	same(text(must(v.Get(t)).Value), "null")
}

func entries(t *T) {
	m := objects.NewMap(t.cluster, fresh())
	put := must(m.Put(t, "b", 1))
	same(must(m.Put(t, "b", 2, objects.MapPutOptions{IfAbsent: true})).Stored, false)
	same(must(m.Put(t, "b", 2, objects.MapPutOptions{IfVersion: &put.Version, TtlMs: objects.Int(600000)})).Stored, true)
	same(must(m.PutAll(t, map[string]any{"a": 1, "c": 3})).Stored, int64(2))
	same(must(m.Add(t, "n")).Value, int64(1))
	same(text(must(m.Get(t, "b")).Value), "2")
	same(must(m.Contains(t, "zz")), false)
	same(must(m.Size(t)).Size, int64(4))
	same(len(must(m.GetAll(t, []string{"a", "no"}))), 1)
	same(must(m.First(t)).Key, "a")
	same(must(m.Last(t)).Key, "n")
	same(must(m.Floor(t, "bb")).Key, "b")
	same(must(m.Ceiling(t, "bb")).Key, "c")
	same(must(m.Floor(t, "A")) == nil, true)
	page := must(m.Range(t, objects.MapRangeOptions{From: "a", Limit: objects.Int(2)}))
	same(page.Next, "c")
	same(must(m.AwaitChange(t, objects.Forever, "b", 0)).Changed, true)
	same(must(m.Remove(t, "a")).Removed, true)
	same(must(m.Clear(t)), int64(3))
}

func set(t *T) {
	s := objects.NewSet(t.cluster, fresh())
	same(must(s.Add(t, []any{1, "b", 1})), int64(2))
	same(must(s.Remove(t, []any{1})), int64(1))
	same(must(s.Size(t)), int64(1))
	same(must(s.Contains(t, "b")), true)
	same(len(must(s.Members(t)).Items), 1)
	same(text(must(s.Pop(t))[0]), `"b"`)
}

func queue(t *T) {
	q := objects.NewQueue(t.cluster, fresh())
	same(must(q.Create(t, map[string]any{"capacity": 2, "priority": true, "max_attempts": 1})), true)
	low := must(q.Put(t, objects.Forever, "low"))
	high := must(q.Put(t, objects.Forever, "high", objects.QueuePutOptions{Priority: objects.Int(3)}))
	_, err := q.Put(t, objects.Try, "more")
	refused("queue-full", err)
	same(must(q.Peek(t))[0].ID, high)
	leased := objects.QueueTakeOptions{LeaseMs: objects.Int(60000)}
	taken := must(q.Take(t, objects.Forever, leased))
	same(text(taken[0].Item), `"high"`)
	same(must(q.Extend(t, []int64{high})), int64(1))
	same(must(q.Nack(t, []int64{high})), int64(1))
	same(len(must(q.Dead(t))), 1)
	same(must(q.Replace(t, low, "other")), true)
	same(must(q.Size(t)).Ready, int64(1))
	same(len(must(q.List(t)).Items), 1)
	same(must(q.Take(t, objects.Forever, leased))[0].ID, low)
	same(must(q.Ack(t, []int64{low})), int64(1))
	same(must(q.Remove(t, high)), true)
	same(len(must(q.Take(t, objects.Try))), 0)
}

func stack(t *T) {
	s := objects.NewStack(t.cluster, fresh())
	same(must(s.Push(t, objects.Forever, "a")), int64(1))
	same(must(s.Push(t, objects.Forever, "b")), int64(2))
	same(must(s.Size(t)), int64(2))
	same(text(must(s.Peek(t))[0]), `"b"`)
	same(len(must(s.Items(t))), 2)
	same(len(must(s.Pop(t, objects.Forever, objects.StackPopOptions{N: objects.Int(5)}))), 2)
	same(len(must(s.Pop(t, objects.Try))), 0)
}

func log(t *T) {
	l := objects.NewLog(t.cluster, fresh())
	same(must(l.Append(t, "a")), int64(0))
	same(must(l.Append(t, "b")), int64(1))
	same(must(l.Read(t, objects.Try)).Next, int64(2))
	same(len(must(l.Read(t, objects.For(50*time.Millisecond), objects.LogReadOptions{From: objects.Int(2)})).Entries), 0)
	same(must(l.Trim(t, 1)).First, int64(1))
}

func ids(t *T) {
	i := objects.NewIds(t.cluster, fresh())
	same(text(must(i.Peek(t))), "1")
	next := must(i.Next(t, objects.IdsNextOptions{N: objects.Int(3)}))
	same(text(next.First)+text(next.Last), "13")
}

func records(t *T) {
	n := objects.NewNames(t.cluster, fresh())
	record := map[string]any{"type": "A", "address": "10.0.0.1"}
	same(must(n.Set(t, "www", record)).Records, int64(1))
	same(must(n.Add(t, "www", map[string]any{"type": "A", "address": "10.0.0.2"})).Records, int64(2))
	same(len(must(n.List(t, objects.NamesListOptions{Name: "www"})).Records), 2)
	same(must(n.List(t)).Names[0].Name, "www")
	same(must(n.Remove(t, "www")).Records, int64(0))
}

func ratelimiter(t *T) {
	r := objects.NewRateLimiter(t.cluster, fresh())
	same(must(r.Configure(t, objects.RateLimiterConfigureOptions{PerSecond: objects.Int(1), Burst: objects.Int(2)})).Burst, int64(2))
	same(must(r.Acquire(t, objects.Forever)).Granted, true)
	same(must(r.Acquire(t, objects.Try, objects.RateLimiterAcquireOptions{N: objects.Int(2)})).Granted, false)
	same(must(r.Peek(t, objects.RateLimiterPeekOptions{Key: "other"})).Remaining, int64(2))
}

func latch(t *T) {
	l := objects.NewLatch(t.cluster, fresh())
	same(must(l.Await(t, objects.Try)), false)
	same(must(l.CountDown(t)), int64(0))
	same(must(l.Await(t, objects.Forever)), true)
	same(must(l.Reset(t)), int64(1))
	same(must(l.Count(t)), int64(1))
}

func barrier(t *T) {
	b := objects.NewBarrier(t.cluster, fresh())
	same(must(b.Create(t, map[string]any{"parties": 1})), true)
	same(must(b.Await(t, objects.Forever)).Index, int64(0))
	same(must(b.Reset(t)), int64(1))
	d := objects.NewBarrier(t.cluster, fresh())
	same(must(d.Create(t, map[string]any{"parties": 1, "double": true})), true)
	same(must(d.Enter(t, objects.Forever)).Index, int64(0))
	same(must(d.State(t)).Inside, int64(1))
	same(must(d.Leave(t, objects.Forever)), true)
}

func lock(t *T) {
	l := objects.NewLock(t.cluster, fresh())
	got := must(l.Acquire(t, objects.Forever))
	same(must(l.Check(t, got.Fence)), true)
	same(must(l.Holder(t)).Fence, got.Fence)
	same(must(l.Acquire(t, objects.Try)).Acquired, false)
	back := must(l.Await(t, objects.For(50*time.Millisecond), "changed", got.Fence))
	same(back.Signalled, false)
	same(must(l.Signal(t, "changed")), int64(0))
	same(must(l.SignalAll(t, "changed")), int64(0))
	_, err := l.Release(t, got.Fence)
	refused("stale-fence", err)
	same(must(l.Release(t, back.Fence)), int64(0))
	same(must(l.Steal(t)) > back.Fence, true)
}

func rwlock(t *T) {
	l := objects.NewRwLock(t.cluster, fresh())
	one, other := must(l.HoldRead(t, objects.Forever)), must(l.HoldRead(t, objects.Forever))
	same(must(l.State(t)).Readers, int64(2))
	no(one.Release())
	no(other.Release())
	got := must(l.Write(t, objects.Forever))
	down := must(l.Downgrade(t, got.Fence))
	same(must(l.Read(t, objects.Try)).Acquired, true)
	must(l.Release(t, down))
	_, err := l.HoldWrite(t, objects.Try)
	if !objects.IsProblem(err, "would-deadlock") && err != objects.ErrNotAcquired {
		panic(err)
	}
}

func semaphore(t *T) {
	s := objects.NewSemaphore(t.cluster, fresh())
	same(must(s.Create(t, map[string]any{"permits": 3})), true)
	got := must(s.Acquire(t, objects.Forever, objects.SemaphoreAcquireOptions{N: objects.Int(2)}))
	same(must(s.Available(t)).Available, int64(1))
	same(must(s.Release(t, objects.SemaphoreReleaseOptions{Fence: &got.Fence})), int64(2))
	same(must(s.Drain(t)).Taken, int64(2))
	same(must(s.Resize(t, 1)).Permits, int64(4))
	no(must(s.Hold(t, objects.Forever)).Release())
}

func membership(t *T) {
	m := objects.NewMembership(t.cluster, fresh())
	same(text(must(m.Join(t, "a", objects.MembershipJoinOptions{Data: 1})).Members[0].Data), "1")
	epoch := must(m.Update(t, "a", 2))
	same(must(m.Members(t)).Epoch, epoch)
	same(must(m.AwaitChange(t, objects.Forever, epoch-1)).Changed, true)
	same(must(m.AwaitSize(t, objects.Forever, objects.MembershipAwaitSizeOptions{N: objects.Int(1)})).Reached, true)
	same(must(m.Report(t, epoch, "nobody")).Removed, false)
	same(must(m.Leave(t, "a")), epoch+1)
}

func election(t *T) {
	e := objects.NewElection(t.cluster, fresh())
	won := must(e.Campaign(t, objects.Forever, "a"))
	same(must(e.Leader(t)).Name, "a")
	same(must(e.Proclaim(t, won.Fence, "x")), won.Term)
	same(text(must(e.Observe(t, objects.Forever)).Data), `"x"`)
	same(len(must(e.Candidates(t))), 0)
	same(must(e.Resign(t, won.Fence)), true)
	held := must(e.Lead(t, objects.Forever, "b"))
	same(must(e.Leader(t)).Term, held.Fence)
	no(held.Release())
}

func described(t *T) {
	c := objects.NewCounter(t.cluster, fresh()+" ä/ö?:x")
	same(must(c.Create(t, nil)), true)
	same(must(c.Create(t, nil)), false)
	same(must(c.Describe(t)).Explicit, true)
	_, err := c.Create(t, map[string]any{"start": 7})
	refused("exists", err)
	no(c.Delete(t))
	_, err = c.Describe(t)
	refused("no-such-object", err)
	same(refused("no-such-method", c.Call(t, "hop", objects.Forever, nil, nil)).Effect, "none")
}
