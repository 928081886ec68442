package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
)

// held is a client in a process of its own that can be stopped like one that hangs: it prints
// `ready` when its ephemeral stands, then each state of its session, and ends with its input.
func held(path string) {
	lines := make(chan string, 100)
	conn := dial(connect, time.Second, func(event zk.Event) {
		if event.Type == zk.EventSession {
			lines <- fmt.Sprint(event.State)
		}
	})
	must(conn.Create(path, nil, zk.FlagEphemeral, open()))
	fmt.Println("ready")
	go func() {
		for line := range lines {
			fmt.Println(line)
		}
	}()
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
}

var sessionTests = group{"sessions", []test{
	{"ids-are-distinct", func(t *T) {
		seen := map[int64]bool{0: true}
		for n := 0; n < 5; n++ {
			id := t.client().SessionID()
			check(!seen[id], "session %x again", id)
			seen[id] = true
		}
	}},
	{"states", func(t *T) {
		_, events := t.clientAt(connect, 10*time.Second)
		equal(events.states, []zk.State{zk.StateConnecting, zk.StateConnected, zk.StateHasSession})
	}},
	{"timeouts-are-clamped", func(t *T) {
		for asked, given := range map[time.Duration]string{time.Second / 10: "1000", 4 * time.Second: "4000", time.Hour: "10000"} {
			conn, _ := t.clientAt(connect, asked)
			equal(negotiated(conn), given)
		}
	}},
	{"reconnection-keeps-the-session", func(t *T) {
		door := t.proxy()
		conn, events := t.clientAt(door.address, 10*time.Second)
		session := conn.SessionID()
		path := must(conn.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		for n := 2; n <= 4; n++ {
			door.shut()
			await("the loss", func() bool { return events.count(zk.StateDisconnected) >= n-1 })
			door.reopen()
			await("reconnection", func() bool { return events.count(zk.StateHasSession) == n })
			_, stat, err := conn.Exists(path)
			ok(err)
			equal(stat.EphemeralOwner, session)
		}
		check(!events.seen(zk.StateExpired), "expired")
	}},
	{"requests-fail-when-cut-off", func(t *T) {
		door := t.proxy()
		conn, events := t.clientAt(door.address, 10*time.Second)
		door.shut()
		events.await(zk.StateDisconnected)
		failed := make(chan error, 1)
		go func() {
			_, _, err := conn.Exists("/")
			failed <- err
		}()
		door.reopen()
		await("an answer", func() bool { return len(failed) == 1 })
	}},
	{"expiry-when-cut-off", func(t *T) {
		door := t.proxy()
		conn, events := t.clientAt(door.address, time.Second)
		session := conn.SessionID()
		path := must(conn.Create(t.path+"/e", nil, zk.FlagEphemeral, open()))
		watch := watchExists(t.zk, path)
		door.shut()
		told(watch, zk.EventNodeDeleted, path)
		door.reopen()
		events.await(zk.StateExpired)
		await("a new session", func() bool { return events.count(zk.StateHasSession) == 2 })
		check(conn.SessionID() != session, "the same session")
		must(conn.Create(path, nil, zk.FlagEphemeral, open()))
	}},
	{"expiry-ends-watches", func(t *T) {
		door := t.proxy()
		conn, _ := t.clientAt(door.address, time.Second)
		watch := watchData(conn, t.path)
		mark := must(conn.Create(t.path+"/mark", nil, zk.FlagEphemeral, open()))
		door.shut()
		await("the session's end", func() bool { return t.gone(mark) })
		door.reopen()
		select {
		case event := <-watch:
			equal(event.Type, zk.EventNotWatching)
			refused(event.Err, zk.ErrSessionExpired)
		case <-time.After(waitMax):
			fail("the watch was left hanging")
		}
	}},
	{"expiry-spares-who-pings", func(t *T) {
		idle, events := t.clientAt(connect, 1500*time.Millisecond)
		path := must(idle.Create(t.path+"/idle", nil, zk.FlagEphemeral, open()))
		for n := 0; n < 2; n++ {
			door := t.proxy()
			silent, _ := t.clientAt(door.address, time.Second)
			end := must(silent.Create(fmt.Sprintf("%s/silent%d", t.path, n), nil, zk.FlagEphemeral, open()))
			door.shut()
			await("the silent one's end", func() bool { return t.gone(end) })
		}
		equal(events.count(zk.StateDisconnected), 0)
		check(!t.gone(path), "the idle one expired")
	}},
	{"expiry-of-a-stopped-process", func(t *T) {
		path := t.path + "/e"
		command := exec.Command(must(os.Executable()), "held", path)
		input := must(command.StdinPipe())
		output := bufio.NewReader(must(command.StdoutPipe()))
		ok(command.Start())
		defer func() {
			input.Close()
			_ = command.Process.Kill()
			_ = command.Wait()
		}()
		equal(must(output.ReadString('\n')), "ready\n")
		ok(command.Process.Signal(syscall.SIGSTOP))
		await("the ephemeral's end", func() bool { return t.gone(path) })
		ok(command.Process.Signal(syscall.SIGCONT))
		for {
			line := must(output.ReadString('\n'))
			if strings.TrimSpace(line) == "StateExpired" {
				return
			}
		}
	}},
	{"expiry-ends-all-at-once", func(t *T) {
		door := t.proxy()
		conn, _ := t.clientAt(door.address, time.Second)
		for n := 0; n < 100; n++ {
			must(conn.Create(t.path+"/e", nil, zk.FlagEphemeralSequential, open()))
		}
		door.shut()
		counts := map[int]bool{}
		await("the ephemerals' end", func() bool {
			children, _, err := t.zk.Children(t.path)
			ok(err)
			counts[len(children)] = true
			return counts[0]
		})
		equal(counts, map[int]bool{0: true, 100: true})
	}},
	{"closed-clients-refuse", func(t *T) {
		conn := t.client()
		conn.Close()
		_, _, err := conn.Exists("/")
		check(err != nil, "answered")
	}},
}}
