package objects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	holdTime    = 10 * time.Second
	attemptTime = 5 * time.Second
	// For how long a member that did not serve is not gone to because a response names it.
	shunTime = 5 * time.Second
)

// Refusals of members, not of the replicated state: the same request is sent again.
var again = map[string]bool{"no-leader": true, "outcome-unknown": true, "rate": true, "bad-response": true, "too-slow": true}

// members knows where requests go.
type members struct {
	mutex   sync.Mutex
	scheme  string
	listed  []string
	current int
	// failures says when members did not serve.
	failures map[string]time.Time
	position int64
}

func (m *members) pick() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.listed[m.current]
}

// failed goes on to the next member.
func (m *members) failed(member string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.failures == nil {
		m.failures = map[string]time.Time{}
	}
	m.failures[member] = time.Now()
	if m.listed[m.current] == member {
		m.current = (m.current + 1) % len(m.listed)
	}
}

// heard takes note of what a response says; whether it names a leader to which we go next. Only to one whose address was given:
// what a response says must not send a token anywhere else. Nor to one that did not serve a moment ago.
func (m *members) heard(fields http.Header) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if position, err := strconv.ParseInt(fields.Get("Diwan-Position"), 10, 64); err == nil {
		m.position = max(m.position, position)
	}
	leader := slices.Index(m.listed, fields.Get("Diwan-Leader"))
	if leader < 0 {
		return false
	}
	if failed, ok := m.failures[m.listed[leader]]; ok && time.Since(failed) < shunTime {
		return false
	}
	m.current = leader
	return true
}

// request is what is sent, perhaps more than once.
type request struct {
	method string
	// target and fields are asked before each attempt.
	target func() string
	fields func() map[string]string
	body   []byte
	// patience is for how long it is tried again while no member answers.
	patience time.Duration
	attempt  time.Duration
}

func always(target string) func() string { return func() string { return target } }

func noFields() map[string]string { return nil }

// once is one attempt at one member, and another one by a token that has replaced the one that was refused.
func (c *Cluster) once(ctx context.Context, method, target string, fields map[string]string, body []byte) (int, []byte, error) {
	signed, status, data, err := c.attempt(ctx, method, target, fields, body)
	if IsProblem(err, "unauthenticated") && c.credentials.replaced(signed) {
		_, status, data, err = c.attempt(ctx, method, target, fields, body)
	}
	return status, data, err
}

// attempt gives the token by which it has asked, and what it was answered.
func (c *Cluster) attempt(ctx context.Context, method, target string, fields map[string]string, body []byte) (string, int, []byte, error) {
	member := c.members.pick()
	asked, err := http.NewRequestWithContext(ctx, method, c.members.scheme+member+target, bytes.NewReader(body))
	if err != nil {
		return "", 0, nil, err
	}
	for name, value := range fields {
		asked.Header.Set(name, value)
	}
	if len(body) > 0 {
		asked.Header.Set("Content-Type", "application/json")
	}
	signed := c.credentials.sign(asked)
	response, err := c.http.Do(asked)
	if err != nil {
		c.members.failed(member)
		return signed, 0, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.members.failed(member)
		return signed, 0, nil, err
	}
	follows := c.members.heard(response.Header)
	if response.StatusCode >= 400 {
		refused := problemOf(response.StatusCode, data)
		if again[refused.Slug] && !follows {
			c.members.failed(member)
		}
		return signed, response.StatusCode, nil, refused
	}
	return signed, response.StatusCode, data, nil
}

// exchange sends a request until it is answered, or ctx ends.
func (c *Cluster) exchange(ctx context.Context, r request) (int, []byte, error) {
	if r.patience == 0 {
		r.patience = c.options.Timeout
	}
	if r.attempt == 0 {
		r.attempt = attemptTime
	}
	end, pause, unanswered, unencrypted, waits := time.Now().Add(r.patience), 10*time.Millisecond, false, 0, false
	for {
		target := r.target()
		attempt, cancel := context.WithTimeout(ctx, r.attempt)
		status, data, err := c.once(attempt, r.method, target, r.fields(), r.body)
		cancel()
		if err == nil {
			if status != http.StatusAccepted || strings.Contains(target, "hold_ms=0") {
				return status, data, nil
			}
			// It waits: we ask again, and join it.
			end, pause, unanswered, unencrypted, waits = time.Now().Add(r.patience), 10*time.Millisecond, false, 0, true
			continue
		}
		if ctx.Err() != nil {
			return 0, nil, context.Cause(ctx)
		}
		var refused *Problem
		if errors.As(err, &refused) && !again[refused.Slug] {
			// An attempt before this one may have had the effect whose memory is gone.
			if unanswered && (refused.Slug == "request-forgotten" || refused.Slug == "session-expired") {
				refused.Effect = "unknown"
			}
			// A member that lets nobody in does not look whether there was an attempt before: we know.
			if refused.Slug == "unauthenticated" || refused.Slug == "forbidden" {
				refused.Effect, refused.Retry = "none", "no"
				if unanswered || waits {
					refused.Effect, refused.Retry = "unknown", "same-key"
				}
			}
			return status, nil, refused
		}
		if refused == nil && isUnencrypted(err) {
			if unencrypted++; unencrypted >= len(c.members.listed) {
				return 0, nil, noTLS(err, unanswered)
			}
		} else {
			unencrypted = 0
			unanswered = unanswered || refused == nil || refused.Effect != "none"
		}
		if time.Now().Add(pause).After(end) {
			if unanswered {
				return 0, nil, &Problem{Slug: "outcome-unknown", Status: 504, Detail: err.Error(), Effect: "unknown", Retry: "same-key"}
			}
			return status, nil, err
		}
		select {
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		case <-time.After(time.Duration(float64(pause) * (0.5 + rand.Float64()))):
		}
		pause = min(2*pause, 500*time.Millisecond)
	}
}
