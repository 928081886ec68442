package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	waitMax = 15 * time.Second
	testMax = 40 * time.Second
)

var connect = envOr("ZK_CONNECT", "127.0.0.1:2181")

// toll is a file that grows with every death: members of an ensemble die one after the other meanwhile, and clients
// know all of them. Empty when nobody dies.
var toll = os.Getenv("ZK_DEATHS")

// servers are those that clients of the present test are given. What one client wrote another reads at once only at
// the same server, so all try them in the same order, beginning with one that answers.
var servers = []string{connect}

const attemptsMax = 5

func deaths() int64 {
	if info, err := os.Stat(toll); err == nil {
		return info.Size()
	}
	return 0
}

func orderServers() {
	if toll == "" {
		return
	}
	var answering, silent []string
	for _, server := range strings.Split(os.Getenv("ZK_SERVERS"), ",") {
		if strings.Contains(fourLetterWord(server, "srvr"), "Mode:") {
			answering = append(answering, server)
		} else {
			silent = append(silent, server)
		}
	}
	servers = append(answering, silent...)
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func extra(word string) bool {
	for _, each := range strings.Fields(os.Getenv("ZK_EXTRAS")) {
		if each == word {
			return true
		}
	}
	return false
}

// A failure or a skip travels as a panic from where it is found to the runner.
type failure string
type skip string

type group struct {
	name  string
	tests []test
}

type test struct {
	name string
	body func(*T)
}

// T is one test's surroundings: a connected client and an empty node of its own.
type T struct {
	zk     *zk.Conn
	events *recorder
	path   string
	lock   sync.Mutex
	close  []func()
}

func fail(format string, arguments ...any) { panic(failure(fmt.Sprintf(format, arguments...))) }

func check(condition bool, format string, arguments ...any) {
	if !condition {
		fail(format, arguments...)
	}
}

func equal(actual, expected any, what ...any) {
	a, aBytes := actual.([]byte)
	e, eBytes := expected.([]byte)
	if aBytes && eBytes && len(a) == 0 && len(e) == 0 || reflect.DeepEqual(actual, expected) {
		return
	}
	if aBytes && eBytes {
		actual, expected = fmt.Sprintf("%.60q", a), fmt.Sprintf("%.60q", e)
	}
	fail("%v %+v, expected %+v", fmt.Sprint(what...), actual, expected)
}

func ok(err error) {
	if err != nil {
		fail("failed: %v", err)
	}
}

func must[V any](value V, err error) V {
	ok(err)
	return value
}

// refused makes sure that the error is the one expected.
func refused(err, expected error) {
	check(errors.Is(err, expected), "error `%v`, expected `%v`", err, expected)
}

func await(what string, condition func() bool) {
	deadline := time.Now().Add(waitMax)
	for !condition() {
		check(time.Now().Before(deadline), "waited %v for %s", waitMax, what)
		time.Sleep(10 * time.Millisecond)
	}
}

// recorder keeps the session states a client went through.
type recorder struct {
	lock   sync.Mutex
	states []zk.State
}

func (r *recorder) told(event zk.Event) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if event.Type == zk.EventSession {
		r.states = append(r.states, event.State)
	}
}

func (r *recorder) seen(state zk.State) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, each := range r.states {
		if each == state {
			return true
		}
	}
	return false
}

func (r *recorder) count(state zk.State) (count int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, each := range r.states {
		if each == state {
			count++
		}
	}
	return
}

func (r *recorder) await(state zk.State) {
	await(fmt.Sprint(state), func() bool { return r.seen(state) })
}

// soon is a host provider that tries servers in turn and soon again (the client's own pauses a second), and none before
// it serves: a starting ZooKeeper may leave a connection hanging for ten.
type soon struct {
	addresses []string
	next      int
}

func (s *soon) Init([]string) error { return nil }
func (s *soon) Len() int            { return len(s.addresses) }
func (s *soon) Connected()          {}
func (s *soon) Next() (address string, retryStart bool) {
	for tries := 0; tries < 50; tries++ {
		address = s.addresses[s.next%len(s.addresses)]
		s.next++
		if strings.Contains(fourLetterWord(address, "srvr"), "Mode:") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return address, false
}

func fourLetterWord(address, word string) string {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte(word))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// negotiated is the session timeout in milliseconds that the server keeps for a client.
func negotiated(conn *zk.Conn) string {
	pattern := fmt.Sprintf(`sid=0x%x,.*to=(\d+),`, conn.SessionID())
	for _, server := range servers {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(fourLetterWord(server, "cons")); match != nil {
			return match[1]
		}
	}
	fail("session %x is not in `cons`", conn.SessionID())
	return ""
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func dial(address string, timeout time.Duration, told func(zk.Event)) *zk.Conn {
	addresses := []string{address}
	if address == connect {
		addresses = servers
	}
	conn, _, err := zk.Connect(addresses, timeout, zk.WithLogger(silent{}), zk.WithEventCallback(told),
		zk.WithHostProvider(&soon{addresses: addresses}))
	ok(err)
	return conn
}

// clientAt connects a client of its own session; it is closed when the test ends.
func (t *T) clientAt(address string, timeout time.Duration) (*zk.Conn, *recorder) {
	events := &recorder{}
	conn := dial(address, timeout, events.told)
	t.closing(conn.Close)
	events.await(zk.StateHasSession)
	return conn, events
}

func (t *T) client() *zk.Conn {
	conn, _ := t.clientAt(connect, 10*time.Second)
	return conn
}

func (t *T) as(user string) *zk.Conn {
	conn := t.client()
	ok(conn.AddAuth("digest", []byte(user)))
	return conn
}

func (t *T) closing(close func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.close = append(t.close, close)
}

func open() []zk.ACL { return zk.WorldACL(zk.PermAll) }

func (t *T) node(name, data string) string {
	return must(t.zk.Create(t.path+"/"+name, []byte(data), zk.FlagPersistent, open()))
}

// make makes a node whatever happens; one that is there already is the one of the first try.
func (t *T) make(path, data string, flags int32) string {
	_, err := t.zk.Create(path, []byte(data), flags, open())
	for toll != "" && lost(err) {
		_, err = t.zk.Create(path, []byte(data), flags, open())
	}
	if err != zk.ErrNodeExists {
		ok(err)
	}
	return path
}

func (t *T) data(path string) string {
	data, _, err := t.zk.Get(path)
	ok(err)
	return string(data)
}

func (t *T) gone(path string) bool {
	exists, _, err := t.zk.Exists(path)
	return err == nil && !exists
}

// control drives the server: kill, stop, start, pause, resume.
func control(verb string) {
	executable := os.Getenv("ZK_CONTROL")
	if executable == "" {
		panic(skip("ZK_CONTROL is not set"))
	}
	command := exec.Command(executable, verb)
	command.Stderr = os.Stderr
	ok(command.Run())
}

func run(groups []group, only []string) int {
	status := 0
	for _, group := range groups {
		for _, test := range group.tests {
			name := group.name + "." + test.name
			if !selected(name, only) {
				continue
			}
			started := time.Now()
			switch outcome := attempts(group.name, name, test.body).(type) {
			case nil:
				fmt.Println("ok", name)
			case skip:
				fmt.Println("skip", name, "-", string(outcome))
			default:
				status = 1
				fmt.Println("not ok", name, "-", strings.Join(strings.Fields(fmt.Sprint(outcome)), " "))
				raiseServer()
			}
			if took := time.Since(started); took > 4*time.Second {
				fmt.Println("#", name, "took", took.Round(time.Millisecond))
			}
		}
	}
	return status
}

func selected(name string, only []string) bool {
	for _, part := range only {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(only) == 0
}

// raiseServer: a test that failed may have left the server down, which is not the next one's fault.
func raiseServer() {
	defer func() { _ = recover() }()
	_ = exec.Command(os.Getenv("ZK_CONTROL"), "resume").Run()
	control("start")
}

// attempts plays a test again, at a path of its own, if it fails and a member died under it: it is about something else.
// What must hold through deaths is told in the group `deaths`, which is played once.
func attempts(group, name string, body func(*T)) (outcome any) {
	for number := 0; number < attemptsMax; number++ {
		before, path := deaths(), name
		if number > 0 {
			path = fmt.Sprintf("%s.again-%d", name, number)
		}
		outcome = attempt(path, body)
		if _, skipped := outcome.(skip); outcome == nil || skipped || toll == "" || group == "deaths" {
			break
		}
		// Returns when a death that is under way is over, and counted.
		raiseServer()
		if deaths() == before {
			break
		}
		fmt.Println("#", name, "met a death:", strings.Join(strings.Fields(fmt.Sprint(outcome)), " "))
	}
	return outcome
}

func attempt(name string, body func(*T)) any {
	orderServers()
	done := make(chan any, 1)
	t := &T{events: &recorder{}}
	go func() {
		defer func() {
			outcome := recover()
			if _, expected := outcome.(skip); outcome != nil && !expected {
				fmt.Fprintf(os.Stderr, "%s: %v\n%s", name, outcome, bytes.TrimSpace(debug.Stack()))
			}
			done <- outcome
		}()
		t.zk, t.events = t.clientAt(connect, 10*time.Second)
		t.path = "/go"
		for _, part := range append([]string{""}, strings.Split(name, ".")...) {
			if part != "" {
				t.path += "/" + part
			}
			t.make(t.path, "", zk.FlagPersistent)
		}
		body(t)
	}()
	var outcome any
	select {
	case outcome = <-done:
	case <-time.After(testMax):
		outcome = fmt.Sprintf("not done after %v", testMax)
	}
	t.lock.Lock()
	for _, close := range t.close {
		go close()
	}
	t.lock.Unlock()
	return outcome
}
