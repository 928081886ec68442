// Made by clients/generate/main.py.

package objects

import "context"

// RwLock is a lock for one writer or many readers, in the order in which they came.
type RwLock struct{ Object }

// NewRwLock names one; it exists once it is used.
func NewRwLock(cluster *Cluster, name string) *RwLock {
	return &RwLock{Object{cluster, "rwlock", name}}
}

// RwLockReadResult is what read gives.
type RwLockReadResult struct {
	Acquired bool  `json:"acquired"`
	Fence    int64 `json:"fence"`
}

// Read gives acquired, fence.
func (o *RwLock) Read(ctx context.Context, wait Wait) (RwLockReadResult, error) {
	asked := call{kind: "blocking", method: "read", args: arguments{}, wait: wait}
	var result RwLockReadResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// RwLockWriteResult is what write gives.
type RwLockWriteResult struct {
	Acquired bool  `json:"acquired"`
	Fence    int64 `json:"fence"`
}

// Write gives acquired, fence.
func (o *RwLock) Write(ctx context.Context, wait Wait) (RwLockWriteResult, error) {
	asked := call{kind: "blocking", method: "write", args: arguments{}, wait: wait}
	var result RwLockWriteResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Downgrade gives fence.
func (o *RwLock) Downgrade(ctx context.Context, fence int64) (int64, error) {
	asked := call{kind: "owned", method: "downgrade", args: arguments{"fence": fence}}
	var result struct {
		One int64 `json:"fence"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Release gives holds.
func (o *RwLock) Release(ctx context.Context, fence int64) (int64, error) {
	asked := call{kind: "owned", method: "release", args: arguments{"fence": fence}}
	var result struct {
		One int64 `json:"holds"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// RwLockStateOptions holds what state may be given besides.
type RwLockStateOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// RwLockStateResult is what state gives.
type RwLockStateResult struct {
	Readers int64  `json:"readers"`
	Writer  string `json:"writer"`
	Fence   int64  `json:"fence"`
	Waiting int64  `json:"waiting"`
}

// State gives readers, writer, fence, waiting.
func (o *RwLock) State(ctx context.Context, options ...RwLockStateOptions) (RwLockStateResult, error) {
	asked := call{kind: "query", method: "state", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result RwLockStateResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// HoldRead acquires, and keeps watch: what it gives knows when it is lost.
func (o *RwLock) HoldRead(ctx context.Context, wait Wait) (*Held, error) {
	asked := call{kind: "blocking", method: "read", args: arguments{}, wait: wait}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		return call{kind: "owned", method: "release", args: args}
	})
}

// HoldWrite acquires, and keeps watch: what it gives knows when it is lost.
func (o *RwLock) HoldWrite(ctx context.Context, wait Wait) (*Held, error) {
	asked := call{kind: "blocking", method: "write", args: arguments{}, wait: wait}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		return call{kind: "owned", method: "release", args: args}
	})
}
