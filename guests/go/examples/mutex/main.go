// A lock that callers wait for, in the order in which they came. It is its holder's session's: when that ends, the next one has it.
// The same as ../../../rust/examples/mutex.rs.
package main

import (
	"fmt"
	"slices"

	"diwan/object"
)

// Grant is a lock that is held.
type Grant struct {
	Fence   uint64 `json:"fence"`
	Session string `json:"session"`
}

// Waiter is a call that waits.
type Waiter struct {
	Ticket  object.Ticket
	Session string
}

// Mutex is the object.
type Mutex struct {
	Holder  *Grant
	Waiting []Waiter
}

// ReleaseArgs are the arguments of release.
type ReleaseArgs struct {
	Fence uint64 `json:"fence"`
}

// State is what state gives.
type State struct {
	Holder  *Grant `json:"holder"`
	Waiting int    `json:"waiting"`
}

// Acquire acquires, and waits.
func (m *Mutex) Acquire(object.None) (*Grant, error) {
	session := object.WhoCalls().Session
	if session == "" {
		return nil, object.Refuse("no-session", "a lock is a session's")
	}
	if m.Holder == nil {
		return m.grant(session), nil
	}
	m.Waiting = append(m.Waiting, Waiter{object.Park(0, object.Forever), session})
	return nil, nil
}

// Release gives it back.
func (m *Mutex) Release(args ReleaseArgs) (object.None, error) {
	if m.Holder == nil || m.Holder.Fence != args.Fence {
		return object.None{}, object.Refuse("not-owner", fmt.Sprintf("the lock is not held under %d", args.Fence))
	}
	m.handOn()
	return object.None{}, nil
}

// State tells who has it.
func (m *Mutex) State(object.None) (State, error) { return State{m.Holder, len(m.Waiting)}, nil }

// TicketEnded forgets who waits no more.
func (m *Mutex) TicketEnded(ticket object.Ticket) error {
	m.Waiting = slices.DeleteFunc(m.Waiting, func(waiter Waiter) bool { return waiter.Ticket == ticket })
	return nil
}

// SessionExpired frees what a session held.
func (m *Mutex) SessionExpired(session string) error {
	m.Waiting = slices.DeleteFunc(m.Waiting, func(waiter Waiter) bool { return waiter.Session == session })
	if m.Holder != nil && m.Holder.Session == session {
		m.handOn()
	}
	return nil
}

// The position rises with every command, so no two grants have the same.
func (m *Mutex) grant(session string) *Grant {
	m.Holder = &Grant{object.Position(), session}
	return m.Holder
}

func (m *Mutex) handOn() {
	m.Holder = nil
	for len(m.Waiting) > 0 {
		next := m.Waiting[0]
		m.Waiting = m.Waiting[1:]
		if next.Ticket.Wake(m.grant(next.Session)) {
			return
		}
		m.Holder = nil
	}
}

func init() {
	object.Export("mutex", func(object.None) (*Mutex, error) { return &Mutex{}, nil },
		object.Blocking("acquire", (*Mutex).Acquire),
		object.Command("release", (*Mutex).Release),
		object.Query("state", (*Mutex).State))
}

func main() { object.Main() }
