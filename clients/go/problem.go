package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Problem is a refusal, or an answer that did not come.
type Problem struct {
	// Slug names it: "not-owner".
	Slug string
	// Status is that of the response; 0 without one.
	Status int
	Detail string
	// Effect is "none" or "unknown".
	Effect string
	// Retry is "now", "later", "same-key" or "no".
	Retry      string
	RetryAfter time.Duration
	Pointer    string
	Position   int64
	// Result is what a call was granted that came to its end before it was cancelled.
	Result json.RawMessage
}

func (p *Problem) Error() string {
	if p.Detail == "" {
		return "diwan: " + p.Slug
	}
	return "diwan: " + p.Slug + ": " + p.Detail
}

// Is makes errors.Is(err, &Problem{Slug: "not-owner"}) compare slugs.
func (p *Problem) Is(other error) bool {
	var of *Problem
	return errors.As(other, &of) && of.Slug == p.Slug
}

// IsProblem says whether an error is the problem of that name.
func IsProblem(err error, slug string) bool {
	return errors.Is(err, &Problem{Slug: slug})
}

// ErrNotAcquired says that the time to wait has passed, and nothing was acquired.
var ErrNotAcquired = errors.New("diwan: not acquired in time")

// ErrLost says that what was held may belong to somebody else by now.
var ErrLost = errors.New("diwan: lost")

func problemOf(status int, body []byte) *Problem {
	var told struct {
		Type, Detail, Effect, Retry, Pointer string
		RetryAfterMs                         int64 `json:"retry_after_ms"`
		Position                             int64
		Result                               json.RawMessage
	}
	if json.Unmarshal(body, &told) != nil || !strings.HasPrefix(told.Type, "urn:diwan:problem:") {
		// Not one of ours: a proxy in between, or another server. It says nothing about an effect.
		return &Problem{Slug: "bad-response", Status: status, Detail: fmt.Sprintf("status %d", status), Effect: "unknown", Retry: "same-key"}
	}
	return &Problem{
		Slug: told.Type[strings.LastIndexByte(told.Type, ':')+1:], Status: status, Detail: told.Detail, Effect: told.Effect,
		Retry: told.Retry, RetryAfter: time.Duration(told.RetryAfterMs) * time.Millisecond, Pointer: told.Pointer,
		Position: told.Position, Result: told.Result,
	}
}
