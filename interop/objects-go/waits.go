package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"

	"diwan/objects"
)

// Waits, cancellation, the loss of sessions, the deaths of leaders.
func init() {
	test("waits.cancelled_wait_leaves_no_waiter", cancelledWait)
	test("waits.cancelled_grant_is_given_back", cancelledGrant)
	test("waits.wait_ends_in_time", waitEnds)
	test("waits.queue_gives_each_item_once", itemsOnce)
	test("waits.call_that_waits_holds_up_no_commands", waitingCommands)
	test("waits.call_that_waits_holds_up_no_call_of_its_session", waitingSession)
	test("waits.parallel_first_calls_open_one_session", oneSession)
	test("sessions.lock_outlives_its_time_to_live", outlives)
	test("sessions.dead_holder_is_followed_in_time", deadHolder)
	test("sessions.stopped_holder_knows_that_it_lost", stoppedHolder)
	test("sessions.stolen_lock_is_lost", stolen)
	test("sessions.closed_cluster_frees_at_once", closed)
	test("sessions.holder_counts_lock_as_lost_before_servers_do", silent)
	test("deaths.increment_and_get_are_right_while_leaders_die", deaths)
	test("deaths.wait_outlives_the_leader", waitOutlives)
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		hold(os.Args[2])
	}
}

// hold is the part of a process that holds a lock until it is lost.
func hold(name string) {
	held := must(objects.NewLock(connect(2*time.Second), name).Hold(context.Background(), objects.Forever))
	fmt.Println(held.Fence)
	<-held.Context().Done()
	fmt.Println("lost", context.Cause(held.Context()) == objects.ErrLost && held.IsLost())
	os.Exit(0)
}

func holder(name string) (*exec.Cmd, func() string, int64) {
	command := exec.Command(os.Args[0], "hold", name)
	out := must(command.StdoutPipe())
	no(command.Start())
	line := func() string {
		var text string
		for buffer := make([]byte, 1); ; {
			if n, err := out.Read(buffer); n == 0 || err != nil || buffer[0] == '\n' {
				return text
			}
			text += string(buffer)
		}
	}
	return command, line, must(strconv.ParseInt(line(), 10, 64))
}

func cancelledWait(t *T) {
	lock := objects.NewLock(t.cluster, fresh())
	held := must(lock.Hold(t, objects.Forever))
	ctx, cancel := context.WithCancel(t)
	ended := make(chan error)
	go func() {
		_, err := lock.Acquire(ctx, objects.Forever)
		ended <- err
	}()
	eventually(func() bool { return must(lock.Holder(t)).Waiting == 1 })
	cancel()
	same(errors.Is(<-ended, context.Canceled), true)
	eventually(func() bool { return must(lock.Holder(t)).Waiting == 0 })
	no(held.Release())
}

func cancelledGrant(t *T) {
	lock := objects.NewLock(t.cluster, fresh())
	for _, delay := range []time.Duration{0, 1, 2, 5, 10} {
		ctx, cancel := context.WithTimeout(t, delay*time.Millisecond)
		if got, err := lock.Acquire(ctx, objects.Forever); err == nil {
			must(lock.Release(t, got.Fence))
		}
		cancel()
		no(must(lock.Hold(t, objects.For(10*time.Second))).Release())
	}
}

func waitEnds(t *T) {
	lock, began := objects.NewLock(t.cluster, fresh()), time.Now()
	held := must(lock.Hold(t, objects.Forever))
	_, err := lock.Hold(t, objects.For(500*time.Millisecond))
	same(err, objects.ErrNotAcquired)
	same(time.Since(began) >= 450*time.Millisecond, true)
	no(held.Release())
}

// together calls a function n times at once.
func together[V any](n int, call func(int) V) []V {
	results, wait := make([]V, n), sync.WaitGroup{}
	failure := make(chan any, n)
	for place := range results {
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() {
				if told := recover(); told != nil {
					failure <- told
				}
			}()
			results[place] = call(place)
		}()
	}
	wait.Wait()
	select {
	case told := <-failure:
		panic(told)
	default:
	}
	return results
}

func itemsOnce(t *T) {
	q := objects.NewQueue(t.cluster, fresh())
	go func() {
		for n := range 10 {
			must(q.Put(t, objects.Forever, n))
		}
	}()
	got := together(10, func(int) string { return text(must(q.Take(t, objects.Forever))[0].Item) })
	sort.Strings(got)
	same(fmt.Sprint(got), "[0 1 2 3 4 5 6 7 8 9]")
}

func waitingCommands(t *T) {
	q, c := objects.NewQueue(t.cluster, fresh()), objects.NewCounter(t.cluster, fresh())
	taken := make(chan int)
	go func() { taken <- len(must(q.Take(t, objects.Forever))) }()
	for n := range 150 {
		same(must(c.Increment(t)), int64(n+1))
	}
	must(q.Put(t, objects.Forever, 1))
	same(<-taken, 1)
	values := together(200, func(int) int64 { return must(c.Increment(t)) })
	sort.Slice(values, func(a, b int) bool { return values[a] < values[b] })
	for n, value := range values {
		same(value, int64(n+151))
	}
}

func waitingSession(t *T) {
	cluster, name := connect(5*time.Second), fresh()
	defer cluster.Close()
	wanted, mine := objects.NewLock(t.cluster, name), objects.NewLock(t.cluster, fresh())
	held := must(objects.NewLock(cluster, name).Hold(t, objects.Forever))
	acquired := make(chan bool)
	go func() { acquired <- must(wanted.Acquire(t, objects.Forever)).Acquired }()
	eventually(func() bool { return must(wanted.Holder(t)).Waiting == 1 })
	var session string
	for range 100 {
		got := must(mine.Acquire(t, objects.For(10*time.Second)))
		session = must(mine.Holder(t)).Session
		same(must(mine.Release(t, got.Fence)), int64(0))
	}
	same(must(wanted.Holder(t)).Waiting, int64(1))
	no(held.Release())
	same(<-acquired, true)
	same(must(wanted.Holder(t)).Session, session)
}

func oneSession(t *T) {
	cluster, name := connect(5*time.Second), fresh()
	defer cluster.Close()
	group := objects.NewMembership(cluster, name)
	together(30, func(place int) any { return must(group.Join(t, fmt.Sprint("m", place))) })
	members := must(group.Members(t)).Members
	same(len(members), 30)
	for _, member := range members {
		same(member.Session, members[0].Session)
	}
}

func outlives(t *T) {
	cluster, name := connect(time.Second), fresh()
	defer cluster.Close()
	held := must(objects.NewLock(cluster, name).Hold(t, objects.Forever))
	same(must(objects.NewLock(t.cluster, name).Acquire(t, objects.For(3*time.Second))).Acquired, false)
	same(held.IsLost(), false)
	no(held.Release())
}

func deadHolder(t *T) {
	name := fresh()
	dead, _, fence := holder(name)
	no(dead.Process.Kill())
	began := time.Now()
	got := must(objects.NewLock(t.cluster, name).Acquire(t, objects.For(20*time.Second)))
	same(got.Acquired && got.Fence > fence, true)
	same(time.Since(began) > time.Second && time.Since(began) < 10*time.Second, true)
}

func stoppedHolder(t *T) {
	name := fresh()
	stopped, line, fence := holder(name)
	no(stopped.Process.Signal(syscall.SIGSTOP))
	got := must(objects.NewLock(t.cluster, name).Acquire(t, objects.For(30*time.Second)))
	no(stopped.Process.Signal(syscall.SIGCONT))
	same(got.Acquired && got.Fence > fence, true)
	same(line(), "lost true")
}

func stolen(t *T) {
	cluster, name := connect(3*time.Second), fresh()
	defer cluster.Close()
	held := must(objects.NewLock(cluster, name).Hold(t, objects.Forever))
	must(objects.NewLock(t.cluster, name).Steal(t))
	select {
	case <-held.Context().Done():
		same(context.Cause(held.Context()), objects.ErrLost)
	case <-time.After(10 * time.Second):
		panic("it was not told")
	}
	no(held.Release())
}

func closed(t *T) {
	cluster, name := connect(time.Minute), fresh()
	must(objects.NewLock(cluster, name).Acquire(t, objects.Forever))
	cluster.Close()
	same(must(objects.NewLock(t.cluster, name).Acquire(t, objects.For(5*time.Second))).Acquired, true)
	_, err := objects.NewCounter(cluster, name).Increment(t)
	refused("closed", err)
}

// silent stops all members: nobody answers, and none can let the session expire meanwhile.
func silent(t *T) {
	cluster := connect(2 * time.Second)
	held := must(objects.NewLock(cluster, fresh()).Hold(t, objects.Forever))
	for _, member := range []string{"1", "2", "3"} {
		control("pause", member)
		defer control("resume", member)
	}
	began := time.Now()
	<-held.Context().Done()
	same(held.IsLost() && time.Since(began) < 1800*time.Millisecond, true)
}

// gaps is the longest time that a loop went without an answer, for each kill.
type gaps struct {
	sync.Mutex
	open    time.Duration
	ofKills []time.Duration
	calls   int
}

// answered gives the time of this answer.
func (g *gaps) answered(since time.Time) time.Time {
	g.Lock()
	defer g.Unlock()
	now := time.Now()
	g.open = max(g.open, now.Sub(since))
	g.calls++
	return now
}

func (g *gaps) begin() {
	g.Lock()
	defer g.Unlock()
	g.open = 0
}

func (g *gaps) end() {
	g.Lock()
	defer g.Unlock()
	g.ofKills = append(g.ofKills, g.open)
}

func (g *gaps) String() string {
	sort.Slice(g.ofKills, func(a, b int) bool { return g.ofKills[a] < g.ofKills[b] })
	median, longest := g.ofKills[len(g.ofKills)/2], g.ofKills[len(g.ofKills)-1]
	return fmt.Sprintf("%d calls, 0 wrong answers over %d kills of leaders; gap: median %d ms, longest %d ms",
		g.calls, len(g.ofKills), median.Milliseconds(), longest.Milliseconds())
}

func deaths(t *T) {
	stop, wrong, gaps := make(chan struct{}), make(chan struct{}), &gaps{}
	var once sync.Once
	go func() {
		defer close(stop)
		for range kills {
			select {
			case <-wrong:
				return
			case <-time.After(500 * time.Millisecond):
			}
			gaps.begin()
			control("kill", "leader")
			control("start")
			time.Sleep(500 * time.Millisecond)
			gaps.end()
		}
	}()
	together(3, func(int) int64 {
		isRight := false
		defer func() {
			if !isRight {
				once.Do(func() { close(wrong) })
			}
		}()
		cluster := connect(10 * time.Second)
		defer cluster.Close()
		c, last := objects.NewCounter(cluster, fresh()), time.Now()
		for n := int64(1); ; n++ {
			same(must(c.Increment(t)), n)
			last = gaps.answered(last)
			same(must(c.Get(t)), n)
			last = gaps.answered(last)
			select {
			case <-stop:
				isRight = true
				return n
			default:
			}
		}
	})
	fmt.Println("#", gaps)
}

func waitOutlives(t *T) {
	latch, opened := objects.NewLatch(t.cluster, fresh()), make(chan bool)
	go func() { opened <- must(latch.Await(t, objects.Forever)) }()
	eventually(func() bool {
		told, err := latch.Describe(t)
		return err == nil && told.Waiting == 1
	})
	control("kill", "leader")
	control("start")
	must(latch.CountDown(t))
	same(<-opened, true)
}
