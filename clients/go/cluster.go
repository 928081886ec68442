// Package objects calls live replicated objects of Diwan: locks, counters, queues, elections and more.
//
//	cluster, err := objects.Connect("10.0.0.1:7180,10.0.0.2:7180,10.0.0.3:7180")
//	visits, err := objects.NewCounter(cluster, "visits").Increment(ctx)
//	held, err := objects.NewLock(cluster, "build").Hold(ctx, objects.Forever)
//	defer held.Release()
//	write(held.Context(), held.Fence)
package objects

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a cluster.
type Options struct {
	// TTL is after which time what a dead client held is free. 10 s without it.
	TTL time.Duration
	// Timeout is for how long a call is tried again while no member answers. 30 s without it.
	Timeout time.Duration
	// Name is the session's, for people.
	Name string
	// TLS encrypts all connections; the function of that name makes it of files. Addresses that begin with https:// do so
	// without it, too: then the system's authorities vouch for the members.
	TLS *tls.Config
	// Token says who asks, with every request. Without it and TokenFile: the environment's DIWAN_TOKEN, or the file that
	// DIWAN_TOKEN_FILE names, or nobody in particular.
	Token string
	// TokenFile is a file with the token. It is read again when the token is refused, so it may be replaced meanwhile.
	TokenFile string
}

// Cluster is the members of a cluster, and one session with it. Any number of goroutines may use it.
type Cluster struct {
	members members
	http    *http.Client
	options Options
	// Who asks.
	credentials *credentials
	owners      atomic.Int64

	mutex   sync.Mutex
	session *session
	closed  bool
	waiting sync.WaitGroup
}

// Wait is how long a call may wait: Forever, Try, or For a time. The end of its context ends the call in any case.
type Wait struct{ limit *time.Duration }

// Forever waits as long as the session lives, at most an hour.
var Forever = Wait{}

// Try does not wait.
var Try = For(0)

// For waits so long.
func For(limit time.Duration) Wait { return Wait{&limit} }

// Int is a number for an option.
func Int(n int64) *int64 { return &n }

// Connect makes a cluster object of the addresses of members. It connects when it is first used.
func Connect(addresses string, options ...Options) (*Cluster, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.TTL == 0 {
		o.TTL = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	credentials, err := credentialsOf(o.Token, o.TokenFile)
	if err != nil {
		return nil, err
	}
	var listed []string
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	for _, address := range strings.Split(addresses, ",") {
		address = strings.TrimSpace(address)
		if bare, found := strings.CutPrefix(address, "https://"); found {
			address, scheme = bare, "https://"
		}
		address = strings.TrimRight(strings.TrimPrefix(address, "http://"), "/")
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), "7180")
		}
		if strings.HasPrefix(address, ":") {
			return nil, fmt.Errorf("diwan: `%s` names no member", addresses)
		}
		listed = append(listed, address)
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	transport := &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		TLSClientConfig: o.TLS, TLSHandshakeTimeout: 2 * time.Second,
	}
	return &Cluster{
		members: members{scheme: scheme, listed: listed, current: rand.Intn(len(listed))}, http: &http.Client{Transport: transport}, options: o,
		credentials: credentials,
	}, nil
}

// Close closes the session: what it holds is free at once.
func (c *Cluster) Close() {
	c.waiting.Wait()
	c.mutex.Lock()
	c.closed = true
	session := c.session
	c.mutex.Unlock()
	if session != nil {
		session.close(context.Background())
	}
	c.http.CloseIdleConnections()
}

// open gives the session: opened once, however many calls ask for it at once.
func (c *Cluster) open(ctx context.Context) (*session, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, &Problem{Slug: "closed", Detail: "the cluster object is closed", Effect: "none", Retry: "no"}
	}
	if c.session != nil && c.session.err() == nil {
		return c.session, nil
	}
	opened, err := openSession(ctx, c)
	if err == nil {
		c.session = opened
	}
	return opened, err
}

func (c *Cluster) current() *session {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.session == nil || c.session.err() != nil {
		return nil
	}
	return c.session
}

// Object is an object of any type. The types of the built-in ones embed it.
type Object struct {
	cluster  *Cluster
	of, name string
}

// NewObject names an object of any type.
func NewObject(cluster *Cluster, of, name string) *Object { return &Object{cluster, of, name} }

func (o *Object) path() string { return "/v1/objects/" + o.of + "/" + url.PathEscape(o.name) }

func keyed() func() map[string]string {
	key := map[string]string{"Idempotency-Key": `"` + random() + `"`}
	return func() map[string]string { return key }
}

// call is a call of a method.
type call struct {
	kind, method string
	args         map[string]any
	wait         Wait
	// Stale asks a query of this member's copy, not older than what this cluster object has seen.
	stale bool
}

type arguments = map[string]any

func (o *Object) do(ctx context.Context, asked call, result any) (*session, error) {
	var body []byte
	if len(asked.args) > 0 {
		var err error
		if body, err = json.Marshal(asked.args); err != nil {
			return nil, err
		}
	}
	data, session, err := o.send(ctx, asked, body)
	if err == nil && result != nil {
		err = json.Unmarshal(data, result)
	}
	return session, err
}

func (o *Object) send(ctx context.Context, asked call, body []byte) ([]byte, *session, error) {
	c, target := o.cluster, o.path()+"/"+url.PathEscape(asked.method)
	if asked.kind == "query" || (asked.kind == "either" && asked.wait.limit != nil && *asked.wait.limit == 0) {
		if asked.stale {
			c.members.mutex.Lock()
			target += fmt.Sprintf("?consistency=stale&min_position=%d", c.members.position)
			c.members.mutex.Unlock()
		}
		_, data, err := c.exchange(ctx, request{method: "POST", target: always(target), fields: noFields, body: body})
		return data, nil, err
	}
	if open := c.current(); asked.kind == "command" && open != nil && !open.hasRoom(reserve/2) {
		// Very many calls are under way. This one needs no session.
		_, data, err := c.exchange(ctx, request{method: "POST", target: always(target), fields: keyed(), body: body})
		return data, open, err
	}
	for first := true; ; first = false {
		open, err := c.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		data, err := o.numbered(ctx, open, asked, target, body)
		var refused *Problem
		if !errors.As(err, &refused) || refused.Slug != "session-expired" {
			return data, open, err
		}
		open.end(refused)
		if !first || refused.Effect != "none" {
			return nil, open, refused
		}
	}
}

func (o *Object) numbered(ctx context.Context, open *session, asked call, target string, body []byte) ([]byte, error) {
	waits := asked.kind == "blocking" || asked.kind == "either"
	// What gives back is not held up by what waits for it.
	left := int64(0)
	if waits && (asked.wait.limit == nil || *asked.wait.limit > 0) {
		left = reserve
	}
	number, err := open.number(ctx, left)
	if err != nil {
		return nil, err
	}
	sent := request{method: "POST", body: body, fields: func() map[string]string { return open.fields(number) }, target: always(target)}
	if waits {
		began := time.Now()
		sent.attempt = attemptTime + holdTime
		sent.target = func() string {
			held := fmt.Sprintf("%s?hold_ms=%d", target, holdTime.Milliseconds())
			if asked.wait.limit == nil {
				return held
			}
			left := max(0, *asked.wait.limit-time.Since(began))
			return fmt.Sprintf("%s&wait_ms=%d", held, left.Milliseconds())
		}
	}
	_, data, err := o.cluster.exchange(ctx, sent)
	// One without a grant is given up by its number: below the floor it has no effect any more.
	if err == nil || asked.kind == "command" || (ctx.Err() == nil && !IsProblem(err, "outcome-unknown")) {
		open.answered(number)
		return data, err
	}
	// Nobody waits for the answer, but it may be a grant.
	o.cluster.waiting.Add(1)
	go func() {
		defer o.cluster.waiting.Done()
		o.giveUp(open, number, asked, target, body)
	}()
	return nil, err
}

// giveUp ends a call that nobody waits for: cancels it if it waits, gives back what it got.
func (o *Object) giveUp(open *session, number int64, asked call, target string, body []byte) {
	defer open.answered(number)
	ctx, cancel := context.WithTimeout(context.Background(), open.ttl)
	defer cancel()
	fields := func() map[string]string { return open.fields(number) }
	repeated := request{method: "POST", target: always(target + "?wait_ms=0&hold_ms=0"), fields: fields, body: body, patience: open.ttl}
	status, data, err := o.cluster.exchange(ctx, repeated)
	if err != nil {
		return
	}
	if status == http.StatusAccepted {
		var waiting struct{ Ticket int64 }
		if json.Unmarshal(data, &waiting) != nil {
			return
		}
		cancelled := request{method: "DELETE", target: always(fmt.Sprintf("/v1/tickets/%d", waiting.Ticket)), fields: noFields}
		_, _, err := o.cluster.exchange(ctx, cancelled)
		var refused *Problem
		if !errors.As(err, &refused) || refused.Slug != "already-granted" {
			return
		}
		data = refused.Result
	}
	if back, args := undo(o.of, asked, data); back != "" {
		_, _ = o.do(ctx, call{kind: "owned", method: back, args: args}, nil)
	}
}

// undo is how a grant is given back that nobody waits for any more.
func undo(of string, asked call, data []byte) (string, arguments) {
	var got struct {
		Acquired, Leader bool
		Fence            int64
		Items            []Item
	}
	if json.Unmarshal(data, &got) != nil {
		return "", nil
	}
	switch {
	case (of == "lock" && asked.method == "acquire" || of == "rwlock") && got.Acquired:
		return "release", arguments{"fence": got.Fence}
	case of == "semaphore" && asked.method == "acquire" && got.Acquired:
		args := arguments{"fence": got.Fence}
		if n, given := asked.args["n"]; given {
			args["n"] = n
		}
		return "release", args
	case of == "election" && asked.method == "campaign" && got.Leader:
		return "resign", arguments{"fence": got.Fence}
	case of == "queue" && asked.method == "take" && asked.args["lease_ms"] != nil && len(got.Items) > 0:
		ids := make([]int64, len(got.Items))
		for place, item := range got.Items {
			ids[place] = item.ID
		}
		return "nack", arguments{"ids": ids}
	}
	return "", nil
}

// Create creates the object. Whether it is new.
func (o *Object) Create(ctx context.Context, args map[string]any) (bool, error) {
	if args == nil {
		args = arguments{}
	}
	body, err := json.Marshal(args)
	if err != nil {
		return false, err
	}
	var result struct{ Created bool }
	_, data, err := o.cluster.exchange(ctx, request{method: "PUT", target: always(o.path()), fields: keyed(), body: body})
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	return result.Created, err
}

// Description is what is known of an object.
type Description struct {
	Type, Name  string
	Incarnation int64
	Explicit    bool
	Waiting     int64
	Position    int64
}

// Describe says what is known of the object.
func (o *Object) Describe(ctx context.Context) (Description, error) {
	var result Description
	_, data, err := o.cluster.exchange(ctx, request{method: "GET", target: always(o.path()), fields: noFields})
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	return result, err
}

// Delete deletes the object.
func (o *Object) Delete(ctx context.Context) error {
	_, _, err := o.cluster.exchange(ctx, request{method: "DELETE", target: always(o.path()), fields: keyed()})
	return err
}

// Call calls any method, with any arguments.
func (o *Object) Call(ctx context.Context, method string, wait Wait, args map[string]any, result any) error {
	_, err := o.do(ctx, call{kind: "blocking", method: method, args: args, wait: wait}, result)
	return err
}

// Query asks a method that only reads, with any arguments.
func (o *Object) Query(ctx context.Context, method string, args map[string]any, result any) error {
	_, err := o.do(ctx, call{kind: "query", method: method, args: args}, result)
	return err
}
