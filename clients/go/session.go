package objects

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"
)

const (
	// Requests that may be without an answer, as the server bounds them.
	window = 64
	// How many of them calls that wait leave to the others.
	reserve = 16
)

// session is open from its first call until it is closed or expires. Its heartbeat is a goroutine of its own.
type session struct {
	cluster *Cluster
	id      string
	header  string
	ttl     time.Duration
	stop    context.CancelFunc

	mutex   sync.Mutex
	next    int64
	answers acknowledged
	// room is closed, and made anew, when a reply has come.
	room chan struct{}
	// renewed is when the last renewal was sent that was answered. Nothing that the session holds is taken for held beyond
	// three quarters of its time to live from then on: before any server lets it expire.
	renewed time.Time
	ended   error
	held    map[*Held]bool
}

func random() string {
	var bytes [16]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes[:])
}

func openSession(ctx context.Context, c *Cluster) (*session, error) {
	id := random()
	s := &session{
		cluster: c, id: id, header: id + "." + random(), ttl: c.options.TTL, next: 1,
		room: make(chan struct{}), held: map[*Held]bool{},
	}
	body := map[string]any{"ttl_ms": s.ttl.Milliseconds()}
	if c.options.Name != "" {
		body["name"] = c.options.Name
	}
	encoded, _ := json.Marshal(body)
	s.renewed = time.Now()
	// The id and the secret are ours, so the request can be repeated.
	_, _, err := c.exchange(ctx, request{method: "POST", target: always("/v1/sessions"), fields: s.proof, body: encoded})
	if err != nil {
		return nil, err
	}
	living, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.renew(living)
	go s.watch(living)
	go s.check(living)
	return s, nil
}

func (s *session) proof() map[string]string { return map[string]string{"Diwan-Session": s.header} }

func (s *session) lostAt() time.Time { return s.renewed.Add(s.ttl * 3 / 4) }

func (s *session) hasRoom(left int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.answers.unanswered(s.next-1) < window-left
}

func (s *session) err() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ended
}

// number gives the number of the next request, once there is room for it and so many more.
func (s *session) number(ctx context.Context, left int64) (int64, error) {
	for {
		s.mutex.Lock()
		room := s.room
		if s.ended != nil {
			defer s.mutex.Unlock()
			return 0, s.ended
		}
		if s.answers.unanswered(s.next-1) < window-left {
			defer s.mutex.Unlock()
			s.next++
			return s.next - 1, nil
		}
		s.mutex.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// answered says that the reply to that request has come, or that nobody wants it any more.
func (s *session) answered(number int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answers.add(number)
	close(s.room)
	s.room = make(chan struct{})
}

func (s *session) fields(number int64) map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return map[string]string{
		"Diwan-Session": s.header, "Diwan-Request": strconv.FormatInt(number, 10),
		"Diwan-Acknowledged": s.answers.String(),
	}
}

// renew is the heartbeat. It asks one member after the other until one answers.
func (s *session) renew(ctx context.Context) {
	pause := s.ttl / 6
	for ctx.Err() == nil {
		sent := time.Now()
		attempt, cancel := context.WithTimeout(ctx, max(pause, 200*time.Millisecond))
		_, _, err := s.cluster.once(attempt, "POST", "/v1/sessions/"+s.id+"/renew", s.proof(), nil)
		cancel()
		var refused *Problem
		switch {
		case err == nil:
			s.mutex.Lock()
			s.renewed = sent
			s.mutex.Unlock()
			rest(ctx, pause)
		case errors.As(err, &refused) && (refused.Slug == "session-expired" || refused.Status == 401 || refused.Status == 403):
			s.end(refused)
		default:
			rest(ctx, 50*time.Millisecond)
		}
	}
}

func rest(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// watch tells holders that the time has passed in which the session was surely alive.
func (s *session) watch(ctx context.Context) {
	for ctx.Err() == nil {
		s.mutex.Lock()
		left := time.Until(s.lostAt())
		s.mutex.Unlock()
		if left <= 0 {
			s.lose(func(*Held) bool { return true })
			left = s.ttl / 20
		}
		rest(ctx, left)
	}
}

// check asks whether locks are still held that were long enough to be stolen. (The session's event stream would tell
// sooner, but it counts as a sign of life even of a process that stands still.)
func (s *session) check(ctx context.Context) {
	for ctx.Err() == nil {
		s.mutex.Lock()
		var known []*Held
		for held := range s.held {
			known = append(known, held)
		}
		s.mutex.Unlock()
		rest(ctx, s.ttl/6)
		for _, held := range known {
			if held.of == "lock" && !held.lost.Load() {
				valid, err := (&Lock{*held.object}).Check(ctx, held.Fence)
				if err == nil && !valid {
					s.lose(func(other *Held) bool { return other == held })
				}
			}
		}
	}
}

func (s *session) lose(concerns func(*Held) bool) {
	s.mutex.Lock()
	var lost []*Held
	for held := range s.held {
		if concerns(held) {
			lost = append(lost, held)
			delete(s.held, held)
		}
	}
	s.mutex.Unlock()
	for _, held := range lost {
		held.lose()
	}
}

func (s *session) end(why error) {
	s.mutex.Lock()
	if s.ended == nil {
		s.ended = why
		close(s.room)
		s.room = make(chan struct{})
	}
	s.mutex.Unlock()
	s.stop()
	s.lose(func(*Held) bool { return true })
}

func (s *session) close(ctx context.Context) {
	if s.err() != nil {
		return
	}
	s.end(&Problem{Slug: "session-expired", Status: 410, Detail: "the session was closed", Effect: "none", Retry: "no"})
	// What is left of it ends with its time to live.
	_, _, _ = s.cluster.exchange(ctx, request{
		method: "DELETE", target: always("/v1/sessions/" + s.id), fields: s.proof, patience: 2 * time.Second,
	})
}
