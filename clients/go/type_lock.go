// Made by clients/generate/main.py.

package objects

import (
	"context"
	"fmt"
)

// Lock is a lock. `await` waits for a condition, and returns only with the lock.
type Lock struct{ Object }

// NewLock names one; it exists once it is used.
func NewLock(cluster *Cluster, name string) *Lock {
	return &Lock{Object{cluster, "lock", name}}
}

// LockAcquireOptions holds what acquire may be given besides.
type LockAcquireOptions struct {
	Owner string
}

// LockAcquireResult is what acquire gives.
type LockAcquireResult struct {
	Acquired bool  `json:"acquired"`
	Fence    int64 `json:"fence"`
	Holds    int64 `json:"holds"`
}

// Acquire gives acquired, fence, holds.
func (o *Lock) Acquire(ctx context.Context, wait Wait, options ...LockAcquireOptions) (LockAcquireResult, error) {
	asked := call{kind: "blocking", method: "acquire", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.Owner != "" {
			asked.args["owner"] = option.Owner
		}
	}
	if asked.args["owner"] == nil {
		// Each call is an owner of its own: goroutines have no names.
		asked.args["owner"] = fmt.Sprint("g", o.cluster.owners.Add(1))
	}
	var result LockAcquireResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Release gives holds.
func (o *Lock) Release(ctx context.Context, fence int64) (int64, error) {
	asked := call{kind: "owned", method: "release", args: arguments{"fence": fence}}
	var result struct {
		One int64 `json:"holds"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LockStealOptions holds what steal may be given besides.
type LockStealOptions struct {
	Reason string
}

// Steal gives fence.
func (o *Lock) Steal(ctx context.Context, options ...LockStealOptions) (int64, error) {
	asked := call{kind: "owned", method: "steal", args: arguments{}}
	for _, option := range options {
		if option.Reason != "" {
			asked.args["reason"] = option.Reason
		}
	}
	var result struct {
		One int64 `json:"fence"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LockAwaitResult is what await gives.
type LockAwaitResult struct {
	Signalled bool  `json:"signalled"`
	Fence     int64 `json:"fence"`
}

// Await gives signalled, fence.
func (o *Lock) Await(ctx context.Context, wait Wait, condition string, fence int64) (LockAwaitResult, error) {
	asked := call{kind: "blocking", method: "await", args: arguments{"condition": condition, "fence": fence}, wait: wait}
	var result LockAwaitResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// LockSignalOptions holds what signal may be given besides.
type LockSignalOptions struct {
	N *int64
}

// Signal gives woken.
func (o *Lock) Signal(ctx context.Context, condition string, options ...LockSignalOptions) (int64, error) {
	asked := call{kind: "owned", method: "signal", args: arguments{"condition": condition}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result struct {
		One int64 `json:"woken"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SignalAll gives woken.
func (o *Lock) SignalAll(ctx context.Context, condition string) (int64, error) {
	asked := call{kind: "owned", method: "signal_all", args: arguments{"condition": condition}}
	var result struct {
		One int64 `json:"woken"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LockHolderOptions holds what holder may be given besides.
type LockHolderOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// LockHolderResult is what holder gives.
type LockHolderResult struct {
	Session string `json:"session"`
	Owner   string `json:"owner"`
	Fence   int64  `json:"fence"`
	Holds   int64  `json:"holds"`
	Since   int64  `json:"since"`
	Waiting int64  `json:"waiting"`
}

// Holder gives session, owner, fence, holds, since, waiting.
func (o *Lock) Holder(ctx context.Context, options ...LockHolderOptions) (LockHolderResult, error) {
	asked := call{kind: "query", method: "holder", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result LockHolderResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// LockCheckOptions holds what check may be given besides.
type LockCheckOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Check gives valid.
func (o *Lock) Check(ctx context.Context, fence int64, options ...LockCheckOptions) (bool, error) {
	asked := call{kind: "query", method: "check", args: arguments{"fence": fence}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One bool `json:"valid"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Hold acquires, and keeps watch: what it gives knows when it is lost.
func (o *Lock) Hold(ctx context.Context, wait Wait, options ...LockAcquireOptions) (*Held, error) {
	asked := call{kind: "blocking", method: "acquire", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.Owner != "" {
			asked.args["owner"] = option.Owner
		}
	}
	if asked.args["owner"] == nil {
		// Each call is an owner of its own: goroutines have no names.
		asked.args["owner"] = fmt.Sprint("g", o.cluster.owners.Add(1))
	}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		return call{kind: "owned", method: "release", args: args}
	})
}
