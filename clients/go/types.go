// Made by clients/generate/main.py: the built-in types.

package objects

import (
	"context"
	"encoding/json"
	"fmt"
)

// Entry is an entry of a map.
type Entry struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// Item is an item of a queue.
type Item struct {
	ID      int64           `json:"id"`
	Item    json.RawMessage `json:"item"`
	Attempt int64           `json:"attempt"`
}

// Member is a member of a membership.
type Member struct {
	Name    string          `json:"name"`
	Data    json.RawMessage `json:"data"`
	Session string          `json:"session"`
	Since   int64           `json:"since"`
}

// NameRecords is a name and its records.
type NameRecords struct {
	Name    string            `json:"name"`
	Records []json.RawMessage `json:"records"`
}

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

// Semaphore is permits, in the order in which they were asked for.
type Semaphore struct{ Object }

// NewSemaphore names one; it exists once it is used.
func NewSemaphore(cluster *Cluster, name string) *Semaphore {
	return &Semaphore{Object{cluster, "semaphore", name}}
}

// SemaphoreAcquireOptions holds what acquire may be given besides.
type SemaphoreAcquireOptions struct {
	N *int64
}

// SemaphoreAcquireResult is what acquire gives.
type SemaphoreAcquireResult struct {
	Acquired bool  `json:"acquired"`
	Fence    int64 `json:"fence"`
	Held     int64 `json:"held"`
}

// Acquire gives acquired, fence, held.
func (o *Semaphore) Acquire(ctx context.Context, wait Wait, options ...SemaphoreAcquireOptions) (SemaphoreAcquireResult, error) {
	asked := call{kind: "blocking", method: "acquire", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result SemaphoreAcquireResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// SemaphoreReleaseOptions holds what release may be given besides.
type SemaphoreReleaseOptions struct {
	N     *int64
	Fence *int64
}

// Release gives available.
func (o *Semaphore) Release(ctx context.Context, options ...SemaphoreReleaseOptions) (int64, error) {
	asked := call{kind: "owned", method: "release", args: arguments{}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
		if option.Fence != nil {
			asked.args["fence"] = option.Fence
		}
	}
	var result struct {
		One int64 `json:"available"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SemaphoreDrainResult is what drain gives.
type SemaphoreDrainResult struct {
	Taken int64 `json:"taken"`
	Fence int64 `json:"fence"`
}

// Drain gives taken, fence.
func (o *Semaphore) Drain(ctx context.Context) (SemaphoreDrainResult, error) {
	asked := call{kind: "owned", method: "drain", args: arguments{}}
	var result SemaphoreDrainResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// SemaphoreResizeResult is what resize gives.
type SemaphoreResizeResult struct {
	Permits   int64 `json:"permits"`
	Available int64 `json:"available"`
}

// Resize gives permits, available.
func (o *Semaphore) Resize(ctx context.Context, by int64) (SemaphoreResizeResult, error) {
	asked := call{kind: "command", method: "resize", args: arguments{"by": by}}
	var result SemaphoreResizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// SemaphoreAvailableOptions holds what available may be given besides.
type SemaphoreAvailableOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// SemaphoreAvailableResult is what available gives.
type SemaphoreAvailableResult struct {
	Available int64 `json:"available"`
	Permits   int64 `json:"permits"`
	Waiting   int64 `json:"waiting"`
}

// Available gives available, permits, waiting.
func (o *Semaphore) Available(ctx context.Context, options ...SemaphoreAvailableOptions) (SemaphoreAvailableResult, error) {
	asked := call{kind: "query", method: "available", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result SemaphoreAvailableResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Hold acquires, and keeps watch: what it gives knows when it is lost.
func (o *Semaphore) Hold(ctx context.Context, wait Wait, options ...SemaphoreAcquireOptions) (*Held, error) {
	asked := call{kind: "blocking", method: "acquire", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		if n, given := asked.args["n"]; given {
			args["n"] = n
		}
		return call{kind: "owned", method: "release", args: args}
	})
}

// Barrier is a barrier, or a double one, which has `enter` and `leave` in place of `await`.
type Barrier struct{ Object }

// NewBarrier names one; it exists once it is used.
func NewBarrier(cluster *Cluster, name string) *Barrier {
	return &Barrier{Object{cluster, "barrier", name}}
}

// BarrierAwaitResult is what await gives.
type BarrierAwaitResult struct {
	Index      int64 `json:"index"`
	Generation int64 `json:"generation"`
}

// Await gives index, generation.
func (o *Barrier) Await(ctx context.Context, wait Wait) (BarrierAwaitResult, error) {
	asked := call{kind: "blocking", method: "await", args: arguments{}, wait: wait}
	var result BarrierAwaitResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// BarrierEnterResult is what enter gives.
type BarrierEnterResult struct {
	Index      int64 `json:"index"`
	Generation int64 `json:"generation"`
}

// Enter gives index, generation.
func (o *Barrier) Enter(ctx context.Context, wait Wait) (BarrierEnterResult, error) {
	asked := call{kind: "blocking", method: "enter", args: arguments{}, wait: wait}
	var result BarrierEnterResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Leave gives left.
func (o *Barrier) Leave(ctx context.Context, wait Wait) (bool, error) {
	asked := call{kind: "blocking", method: "leave", args: arguments{}, wait: wait}
	var result struct {
		One bool `json:"left"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Reset gives parties.
func (o *Barrier) Reset(ctx context.Context) (int64, error) {
	asked := call{kind: "command", method: "reset", args: arguments{}}
	var result struct {
		One int64 `json:"parties"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// BarrierStateOptions holds what state may be given besides.
type BarrierStateOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// BarrierStateResult is what state gives.
type BarrierStateResult struct {
	Parties    int64 `json:"parties"`
	Waiting    int64 `json:"waiting"`
	Inside     int64 `json:"inside"`
	Leaving    int64 `json:"leaving"`
	Generation int64 `json:"generation"`
	Broken     bool  `json:"broken"`
}

// State gives parties, waiting, inside, leaving, generation, broken.
func (o *Barrier) State(ctx context.Context, options ...BarrierStateOptions) (BarrierStateResult, error) {
	asked := call{kind: "query", method: "state", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result BarrierStateResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Latch is a latch: it opens when its count is 0.
type Latch struct{ Object }

// NewLatch names one; it exists once it is used.
func NewLatch(cluster *Cluster, name string) *Latch {
	return &Latch{Object{cluster, "latch", name}}
}

// LatchCountDownOptions holds what count_down may be given besides.
type LatchCountDownOptions struct {
	N *int64
}

// CountDown gives count.
func (o *Latch) CountDown(ctx context.Context, options ...LatchCountDownOptions) (int64, error) {
	asked := call{kind: "command", method: "count_down", args: arguments{}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result struct {
		One int64 `json:"count"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Await gives open.
func (o *Latch) Await(ctx context.Context, wait Wait) (bool, error) {
	asked := call{kind: "blocking", method: "await", args: arguments{}, wait: wait}
	var result struct {
		One bool `json:"open"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LatchResetOptions holds what reset may be given besides.
type LatchResetOptions struct {
	Count *int64
}

// Reset gives count.
func (o *Latch) Reset(ctx context.Context, options ...LatchResetOptions) (int64, error) {
	asked := call{kind: "command", method: "reset", args: arguments{}}
	for _, option := range options {
		if option.Count != nil {
			asked.args["count"] = option.Count
		}
	}
	var result struct {
		One int64 `json:"count"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LatchCountOptions holds what count may be given besides.
type LatchCountOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Count gives count.
func (o *Latch) Count(ctx context.Context, options ...LatchCountOptions) (int64, error) {
	asked := call{kind: "query", method: "count", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One int64 `json:"count"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Counter is a counter of 64 bits, perhaps with bounds.
type Counter struct{ Object }

// NewCounter names one; it exists once it is used.
func NewCounter(cluster *Cluster, name string) *Counter {
	return &Counter{Object{cluster, "counter", name}}
}

// CounterIncrementOptions holds what increment may be given besides.
type CounterIncrementOptions struct {
	By *int64
}

// Increment gives value.
func (o *Counter) Increment(ctx context.Context, options ...CounterIncrementOptions) (int64, error) {
	asked := call{kind: "command", method: "increment", args: arguments{}}
	for _, option := range options {
		if option.By != nil {
			asked.args["by"] = option.By
		}
	}
	var result struct {
		One int64 `json:"value"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// CounterDecrementOptions holds what decrement may be given besides.
type CounterDecrementOptions struct {
	By *int64
}

// Decrement gives value.
func (o *Counter) Decrement(ctx context.Context, options ...CounterDecrementOptions) (int64, error) {
	asked := call{kind: "command", method: "decrement", args: arguments{}}
	for _, option := range options {
		if option.By != nil {
			asked.args["by"] = option.By
		}
	}
	var result struct {
		One int64 `json:"value"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// CounterSetResult is what set gives.
type CounterSetResult struct {
	Value    int64 `json:"value"`
	Previous int64 `json:"previous"`
}

// Set gives value, previous.
func (o *Counter) Set(ctx context.Context, value int64) (CounterSetResult, error) {
	asked := call{kind: "command", method: "set", args: arguments{"value": value}}
	var result CounterSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// CounterSwapResult is what swap gives.
type CounterSwapResult struct {
	Value    int64 `json:"value"`
	Previous int64 `json:"previous"`
}

// Swap gives value, previous.
func (o *Counter) Swap(ctx context.Context, value int64) (CounterSwapResult, error) {
	asked := call{kind: "command", method: "swap", args: arguments{"value": value}}
	var result CounterSwapResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// CounterCompareAndSetResult is what compare_and_set gives.
type CounterCompareAndSetResult struct {
	Swapped bool  `json:"swapped"`
	Value   int64 `json:"value"`
}

// CompareAndSet gives swapped, value.
func (o *Counter) CompareAndSet(ctx context.Context, expect int64, value int64) (CounterCompareAndSetResult, error) {
	asked := call{kind: "command", method: "compare_and_set", args: arguments{"expect": expect, "value": value}}
	var result CounterCompareAndSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// CounterAwaitOptions holds what await may be given besides.
type CounterAwaitOptions struct {
	AtLeast *int64
	AtMost  *int64
	Equals  *int64
}

// CounterAwaitResult is what await gives.
type CounterAwaitResult struct {
	Reached bool  `json:"reached"`
	Value   int64 `json:"value"`
}

// Await gives reached, value.
func (o *Counter) Await(ctx context.Context, wait Wait, options ...CounterAwaitOptions) (CounterAwaitResult, error) {
	asked := call{kind: "blocking", method: "await", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.AtLeast != nil {
			asked.args["at_least"] = option.AtLeast
		}
		if option.AtMost != nil {
			asked.args["at_most"] = option.AtMost
		}
		if option.Equals != nil {
			asked.args["equals"] = option.Equals
		}
	}
	var result CounterAwaitResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// CounterGetOptions holds what get may be given besides.
type CounterGetOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Get gives value.
func (o *Counter) Get(ctx context.Context, options ...CounterGetOptions) (int64, error) {
	asked := call{kind: "query", method: "get", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One int64 `json:"value"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Value is any JSON, with a version.
type Value struct{ Object }

// NewValue names one; it exists once it is used.
func NewValue(cluster *Cluster, name string) *Value {
	return &Value{Object{cluster, "value", name}}
}

// ValueSetResult is what set gives.
type ValueSetResult struct {
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Set gives version, previous.
func (o *Value) Set(ctx context.Context, value any) (ValueSetResult, error) {
	asked := call{kind: "command", method: "set", args: arguments{"value": value}}
	var result ValueSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ValueSwapResult is what swap gives.
type ValueSwapResult struct {
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Swap gives version, previous.
func (o *Value) Swap(ctx context.Context, value any) (ValueSwapResult, error) {
	asked := call{kind: "command", method: "swap", args: arguments{"value": value}}
	var result ValueSwapResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ValueCompareAndSetOptions holds what compare_and_set may be given besides.
type ValueCompareAndSetOptions struct {
	Expect  any
	Version *int64
}

// ValueCompareAndSetResult is what compare_and_set gives.
type ValueCompareAndSetResult struct {
	Swapped bool            `json:"swapped"`
	Version int64           `json:"version"`
	Value   json.RawMessage `json:"value"`
}

// CompareAndSet gives swapped, version, value.
func (o *Value) CompareAndSet(ctx context.Context, value any, options ...ValueCompareAndSetOptions) (ValueCompareAndSetResult, error) {
	asked := call{kind: "command", method: "compare_and_set", args: arguments{"value": value}}
	for _, option := range options {
		if option.Expect != nil {
			asked.args["expect"] = option.Expect
		}
		if option.Version != nil {
			asked.args["version"] = option.Version
		}
	}
	var result ValueCompareAndSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ValueAwaitChangeResult is what await_change gives.
type ValueAwaitChangeResult struct {
	Changed bool            `json:"changed"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// AwaitChange gives changed, value, version.
func (o *Value) AwaitChange(ctx context.Context, wait Wait, version int64) (ValueAwaitChangeResult, error) {
	asked := call{kind: "blocking", method: "await_change", args: arguments{"version": version}, wait: wait}
	var result ValueAwaitChangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ValueGetOptions holds what get may be given besides.
type ValueGetOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// ValueGetResult is what get gives.
type ValueGetResult struct {
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// Get gives value, version.
func (o *Value) Get(ctx context.Context, options ...ValueGetOptions) (ValueGetResult, error) {
	asked := call{kind: "query", method: "get", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result ValueGetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Map is a map, ordered by its keys.
type Map struct{ Object }

// NewMap names one; it exists once it is used.
func NewMap(cluster *Cluster, name string) *Map {
	return &Map{Object{cluster, "map", name}}
}

// MapPutOptions holds what put may be given besides.
type MapPutOptions struct {
	TtlMs     *int64
	IfVersion *int64
	IfAbsent  bool
}

// MapPutResult is what put gives.
type MapPutResult struct {
	Stored   bool            `json:"stored"`
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Put gives stored, version, previous.
func (o *Map) Put(ctx context.Context, key string, value any, options ...MapPutOptions) (MapPutResult, error) {
	asked := call{kind: "command", method: "put", args: arguments{"key": key, "value": value}}
	for _, option := range options {
		if option.TtlMs != nil {
			asked.args["ttl_ms"] = option.TtlMs
		}
		if option.IfVersion != nil {
			asked.args["if_version"] = option.IfVersion
		}
		if option.IfAbsent != false {
			asked.args["if_absent"] = option.IfAbsent
		}
	}
	var result MapPutResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapRemoveOptions holds what remove may be given besides.
type MapRemoveOptions struct {
	IfVersion *int64
}

// MapRemoveResult is what remove gives.
type MapRemoveResult struct {
	Removed  bool            `json:"removed"`
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Remove gives removed, version, previous.
func (o *Map) Remove(ctx context.Context, key string, options ...MapRemoveOptions) (MapRemoveResult, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"key": key}}
	for _, option := range options {
		if option.IfVersion != nil {
			asked.args["if_version"] = option.IfVersion
		}
	}
	var result MapRemoveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapAddOptions holds what add may be given besides.
type MapAddOptions struct {
	By *int64
}

// MapAddResult is what add gives.
type MapAddResult struct {
	Value   int64 `json:"value"`
	Version int64 `json:"version"`
}

// Add gives value, version.
func (o *Map) Add(ctx context.Context, key string, options ...MapAddOptions) (MapAddResult, error) {
	asked := call{kind: "command", method: "add", args: arguments{"key": key}}
	for _, option := range options {
		if option.By != nil {
			asked.args["by"] = option.By
		}
	}
	var result MapAddResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapPutAllResult is what put_all gives.
type MapPutAllResult struct {
	Stored  int64 `json:"stored"`
	Version int64 `json:"version"`
}

// PutAll gives stored, version.
func (o *Map) PutAll(ctx context.Context, entries map[string]any) (MapPutAllResult, error) {
	asked := call{kind: "command", method: "put_all", args: arguments{"entries": entries}}
	var result MapPutAllResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Clear gives removed.
func (o *Map) Clear(ctx context.Context) (int64, error) {
	asked := call{kind: "command", method: "clear", args: arguments{}}
	var result struct {
		One int64 `json:"removed"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapAwaitChangeResult is what await_change gives.
type MapAwaitChangeResult struct {
	Changed bool            `json:"changed"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// AwaitChange gives changed, value, version.
func (o *Map) AwaitChange(ctx context.Context, wait Wait, key string, version int64) (MapAwaitChangeResult, error) {
	asked := call{kind: "blocking", method: "await_change", args: arguments{"key": key, "version": version}, wait: wait}
	var result MapAwaitChangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapGetOptions holds what get may be given besides.
type MapGetOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapGetResult is what get gives.
type MapGetResult struct {
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// Get gives value, version.
func (o *Map) Get(ctx context.Context, key string, options ...MapGetOptions) (MapGetResult, error) {
	asked := call{kind: "query", method: "get", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MapGetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapGetAllOptions holds what get_all may be given besides.
type MapGetAllOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// GetAll gives entries.
func (o *Map) GetAll(ctx context.Context, keys []string, options ...MapGetAllOptions) ([]Entry, error) {
	asked := call{kind: "query", method: "get_all", args: arguments{"keys": keys}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One []Entry `json:"entries"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapContainsOptions holds what contains may be given besides.
type MapContainsOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Contains gives contains.
func (o *Map) Contains(ctx context.Context, key string, options ...MapContainsOptions) (bool, error) {
	asked := call{kind: "query", method: "contains", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One bool `json:"contains"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapSizeOptions holds what size may be given besides.
type MapSizeOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapSizeResult is what size gives.
type MapSizeResult struct {
	Size  int64 `json:"size"`
	Bytes int64 `json:"bytes"`
}

// Size gives size, bytes.
func (o *Map) Size(ctx context.Context, options ...MapSizeOptions) (MapSizeResult, error) {
	asked := call{kind: "query", method: "size", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MapSizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapFirstOptions holds what first may be given besides.
type MapFirstOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// First gives entry.
func (o *Map) First(ctx context.Context, options ...MapFirstOptions) (*Entry, error) {
	asked := call{kind: "query", method: "first", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapLastOptions holds what last may be given besides.
type MapLastOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Last gives entry.
func (o *Map) Last(ctx context.Context, options ...MapLastOptions) (*Entry, error) {
	asked := call{kind: "query", method: "last", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapFloorOptions holds what floor may be given besides.
type MapFloorOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Floor gives entry.
func (o *Map) Floor(ctx context.Context, key string, options ...MapFloorOptions) (*Entry, error) {
	asked := call{kind: "query", method: "floor", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapCeilingOptions holds what ceiling may be given besides.
type MapCeilingOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Ceiling gives entry.
func (o *Map) Ceiling(ctx context.Context, key string, options ...MapCeilingOptions) (*Entry, error) {
	asked := call{kind: "query", method: "ceiling", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapRangeOptions holds what range may be given besides.
type MapRangeOptions struct {
	From  string
	To    string
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapRangeResult is what range gives.
type MapRangeResult struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next"`
}

// Range gives entries, next.
func (o *Map) Range(ctx context.Context, options ...MapRangeOptions) (MapRangeResult, error) {
	asked := call{kind: "query", method: "range", args: arguments{}}
	for _, option := range options {
		if option.From != "" {
			asked.args["from"] = option.From
		}
		if option.To != "" {
			asked.args["to"] = option.To
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result MapRangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Set is a set of any JSON.
type Set struct{ Object }

// NewSet names one; it exists once it is used.
func NewSet(cluster *Cluster, name string) *Set {
	return &Set{Object{cluster, "set", name}}
}

// Add gives added.
func (o *Set) Add(ctx context.Context, items []any) (int64, error) {
	asked := call{kind: "command", method: "add", args: arguments{"items": items}}
	var result struct {
		One int64 `json:"added"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Remove gives removed.
func (o *Set) Remove(ctx context.Context, items []any) (int64, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"items": items}}
	var result struct {
		One int64 `json:"removed"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SetPopOptions holds what pop may be given besides.
type SetPopOptions struct {
	N *int64
}

// Pop gives items.
func (o *Set) Pop(ctx context.Context, options ...SetPopOptions) ([]json.RawMessage, error) {
	asked := call{kind: "command", method: "pop", args: arguments{}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result struct {
		One []json.RawMessage `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SetContainsOptions holds what contains may be given besides.
type SetContainsOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Contains gives contains.
func (o *Set) Contains(ctx context.Context, item any, options ...SetContainsOptions) (bool, error) {
	asked := call{kind: "query", method: "contains", args: arguments{"item": item}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One bool `json:"contains"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SetSizeOptions holds what size may be given besides.
type SetSizeOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Size gives size.
func (o *Set) Size(ctx context.Context, options ...SetSizeOptions) (int64, error) {
	asked := call{kind: "query", method: "size", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One int64 `json:"size"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// SetMembersOptions holds what members may be given besides.
type SetMembersOptions struct {
	After any
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// SetMembersResult is what members gives.
type SetMembersResult struct {
	Items []json.RawMessage `json:"items"`
	Next  json.RawMessage   `json:"next"`
}

// Members gives items, next.
func (o *Set) Members(ctx context.Context, options ...SetMembersOptions) (SetMembersResult, error) {
	asked := call{kind: "query", method: "members", args: arguments{}}
	for _, option := range options {
		if option.After != nil {
			asked.args["after"] = option.After
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result SetMembersResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Queue is a queue. With a lease an item comes back unless it is acknowledged.
type Queue struct{ Object }

// NewQueue names one; it exists once it is used.
func NewQueue(cluster *Cluster, name string) *Queue {
	return &Queue{Object{cluster, "queue", name}}
}

// QueuePutOptions holds what put may be given besides.
type QueuePutOptions struct {
	Priority *int64
	DelayMs  *int64
}

// Put gives id.
func (o *Queue) Put(ctx context.Context, wait Wait, item any, options ...QueuePutOptions) (int64, error) {
	asked := call{kind: "blocking", method: "put", args: arguments{"item": item}, wait: wait}
	for _, option := range options {
		if option.Priority != nil {
			asked.args["priority"] = option.Priority
		}
		if option.DelayMs != nil {
			asked.args["delay_ms"] = option.DelayMs
		}
	}
	var result struct {
		One int64 `json:"id"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// QueueTakeOptions holds what take may be given besides.
type QueueTakeOptions struct {
	N       *int64
	LeaseMs *int64
}

// Take gives items.
func (o *Queue) Take(ctx context.Context, wait Wait, options ...QueueTakeOptions) ([]Item, error) {
	asked := call{kind: "blocking", method: "take", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
		if option.LeaseMs != nil {
			asked.args["lease_ms"] = option.LeaseMs
		}
	}
	var result struct {
		One []Item `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Ack gives acked.
func (o *Queue) Ack(ctx context.Context, ids []int64) (int64, error) {
	asked := call{kind: "owned", method: "ack", args: arguments{"ids": ids}}
	var result struct {
		One int64 `json:"acked"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// QueueNackOptions holds what nack may be given besides.
type QueueNackOptions struct {
	DelayMs *int64
}

// Nack gives nacked.
func (o *Queue) Nack(ctx context.Context, ids []int64, options ...QueueNackOptions) (int64, error) {
	asked := call{kind: "owned", method: "nack", args: arguments{"ids": ids}}
	for _, option := range options {
		if option.DelayMs != nil {
			asked.args["delay_ms"] = option.DelayMs
		}
	}
	var result struct {
		One int64 `json:"nacked"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Extend gives extended.
func (o *Queue) Extend(ctx context.Context, ids []int64) (int64, error) {
	asked := call{kind: "owned", method: "extend", args: arguments{"ids": ids}}
	var result struct {
		One int64 `json:"extended"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Replace gives replaced.
func (o *Queue) Replace(ctx context.Context, id int64, item any) (bool, error) {
	asked := call{kind: "command", method: "replace", args: arguments{"id": id, "item": item}}
	var result struct {
		One bool `json:"replaced"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Remove gives removed.
func (o *Queue) Remove(ctx context.Context, id int64) (bool, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"id": id}}
	var result struct {
		One bool `json:"removed"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// QueuePeekOptions holds what peek may be given besides.
type QueuePeekOptions struct {
	N *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Peek gives items.
func (o *Queue) Peek(ctx context.Context, options ...QueuePeekOptions) ([]Item, error) {
	asked := call{kind: "query", method: "peek", args: arguments{}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
		asked.stale = option.Stale
	}
	var result struct {
		One []Item `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// QueueListOptions holds what list may be given besides.
type QueueListOptions struct {
	After *int64
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// QueueListResult is what list gives.
type QueueListResult struct {
	Items []Item `json:"items"`
	Next  int64  `json:"next"`
}

// List gives items, next.
func (o *Queue) List(ctx context.Context, options ...QueueListOptions) (QueueListResult, error) {
	asked := call{kind: "query", method: "list", args: arguments{}}
	for _, option := range options {
		if option.After != nil {
			asked.args["after"] = option.After
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result QueueListResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// QueueSizeOptions holds what size may be given besides.
type QueueSizeOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// QueueSizeResult is what size gives.
type QueueSizeResult struct {
	Size    int64 `json:"size"`
	Ready   int64 `json:"ready"`
	Delayed int64 `json:"delayed"`
	Leased  int64 `json:"leased"`
	Dead    int64 `json:"dead"`
}

// Size gives size, ready, delayed, leased, dead.
func (o *Queue) Size(ctx context.Context, options ...QueueSizeOptions) (QueueSizeResult, error) {
	asked := call{kind: "query", method: "size", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result QueueSizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// QueueDeadOptions holds what dead may be given besides.
type QueueDeadOptions struct {
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Dead gives items.
func (o *Queue) Dead(ctx context.Context, options ...QueueDeadOptions) ([]Item, error) {
	asked := call{kind: "query", method: "dead", args: arguments{}}
	for _, option := range options {
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result struct {
		One []Item `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Stack is a stack.
type Stack struct{ Object }

// NewStack names one; it exists once it is used.
func NewStack(cluster *Cluster, name string) *Stack {
	return &Stack{Object{cluster, "stack", name}}
}

// Push gives size.
func (o *Stack) Push(ctx context.Context, wait Wait, item any) (int64, error) {
	asked := call{kind: "blocking", method: "push", args: arguments{"item": item}, wait: wait}
	var result struct {
		One int64 `json:"size"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// StackPopOptions holds what pop may be given besides.
type StackPopOptions struct {
	N *int64
}

// Pop gives items.
func (o *Stack) Pop(ctx context.Context, wait Wait, options ...StackPopOptions) ([]json.RawMessage, error) {
	asked := call{kind: "blocking", method: "pop", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result struct {
		One []json.RawMessage `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// StackPeekOptions holds what peek may be given besides.
type StackPeekOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Peek gives items.
func (o *Stack) Peek(ctx context.Context, options ...StackPeekOptions) ([]json.RawMessage, error) {
	asked := call{kind: "query", method: "peek", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One []json.RawMessage `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// StackItemsOptions holds what items may be given besides.
type StackItemsOptions struct {
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Items gives items.
func (o *Stack) Items(ctx context.Context, options ...StackItemsOptions) ([]json.RawMessage, error) {
	asked := call{kind: "query", method: "items", args: arguments{}}
	for _, option := range options {
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result struct {
		One []json.RawMessage `json:"items"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// StackSizeOptions holds what size may be given besides.
type StackSizeOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Size gives size.
func (o *Stack) Size(ctx context.Context, options ...StackSizeOptions) (int64, error) {
	asked := call{kind: "query", method: "size", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One int64 `json:"size"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Log is entries under rising indexes.
type Log struct{ Object }

// NewLog names one; it exists once it is used.
func NewLog(cluster *Cluster, name string) *Log {
	return &Log{Object{cluster, "log", name}}
}

// Append gives index.
func (o *Log) Append(ctx context.Context, entry any) (int64, error) {
	asked := call{kind: "command", method: "append", args: arguments{"entry": entry}}
	var result struct {
		One int64 `json:"index"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LogTrimResult is what trim gives.
type LogTrimResult struct {
	Trimmed int64 `json:"trimmed"`
	First   int64 `json:"first"`
}

// Trim gives trimmed, first.
func (o *Log) Trim(ctx context.Context, before int64) (LogTrimResult, error) {
	asked := call{kind: "command", method: "trim", args: arguments{"before": before}}
	var result LogTrimResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// LogReadOptions holds what read may be given besides.
type LogReadOptions struct {
	From  *int64
	Limit *int64
}

// LogReadResult is what read gives.
type LogReadResult struct {
	Entries []json.RawMessage `json:"entries"`
	First   int64             `json:"first"`
	Next    int64             `json:"next"`
}

// Read gives entries, first, next.
func (o *Log) Read(ctx context.Context, wait Wait, options ...LogReadOptions) (LogReadResult, error) {
	asked := call{kind: "either", method: "read", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.From != nil {
			asked.args["from"] = option.From
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
	}
	var result LogReadResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Membership is who is there. Members leave with their session.
type Membership struct{ Object }

// NewMembership names one; it exists once it is used.
func NewMembership(cluster *Cluster, name string) *Membership {
	return &Membership{Object{cluster, "membership", name}}
}

// MembershipJoinOptions holds what join may be given besides.
type MembershipJoinOptions struct {
	Data any
}

// MembershipJoinResult is what join gives.
type MembershipJoinResult struct {
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// Join gives epoch, members.
func (o *Membership) Join(ctx context.Context, name string, options ...MembershipJoinOptions) (MembershipJoinResult, error) {
	asked := call{kind: "owned", method: "join", args: arguments{"name": name}}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	var result MembershipJoinResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Leave gives epoch.
func (o *Membership) Leave(ctx context.Context, name string) (int64, error) {
	asked := call{kind: "owned", method: "leave", args: arguments{"name": name}}
	var result struct {
		One int64 `json:"epoch"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Update gives epoch.
func (o *Membership) Update(ctx context.Context, name string, data any) (int64, error) {
	asked := call{kind: "owned", method: "update", args: arguments{"name": name, "data": data}}
	var result struct {
		One int64 `json:"epoch"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MembershipReportResult is what report gives.
type MembershipReportResult struct {
	Reports int64 `json:"reports"`
	Removed bool  `json:"removed"`
	Epoch   int64 `json:"epoch"`
}

// Report gives reports, removed, epoch.
func (o *Membership) Report(ctx context.Context, epoch int64, name string) (MembershipReportResult, error) {
	asked := call{kind: "owned", method: "report", args: arguments{"epoch": epoch, "name": name}}
	var result MembershipReportResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipAwaitChangeResult is what await_change gives.
type MembershipAwaitChangeResult struct {
	Changed bool     `json:"changed"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// AwaitChange gives changed, epoch, members.
func (o *Membership) AwaitChange(ctx context.Context, wait Wait, epoch int64) (MembershipAwaitChangeResult, error) {
	asked := call{kind: "blocking", method: "await_change", args: arguments{"epoch": epoch}, wait: wait}
	var result MembershipAwaitChangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipAwaitSizeOptions holds what await_size may be given besides.
type MembershipAwaitSizeOptions struct {
	N *int64
}

// MembershipAwaitSizeResult is what await_size gives.
type MembershipAwaitSizeResult struct {
	Reached bool     `json:"reached"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// AwaitSize gives reached, epoch, members.
func (o *Membership) AwaitSize(ctx context.Context, wait Wait, options ...MembershipAwaitSizeOptions) (MembershipAwaitSizeResult, error) {
	asked := call{kind: "blocking", method: "await_size", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result MembershipAwaitSizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipMembersOptions holds what members may be given besides.
type MembershipMembersOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MembershipMembersResult is what members gives.
type MembershipMembersResult struct {
	Enough  bool     `json:"enough"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// Members gives enough, epoch, members.
func (o *Membership) Members(ctx context.Context, options ...MembershipMembersOptions) (MembershipMembersResult, error) {
	asked := call{kind: "query", method: "members", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MembershipMembersResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Election is an election: one leader at a time, under a term.
type Election struct{ Object }

// NewElection names one; it exists once it is used.
func NewElection(cluster *Cluster, name string) *Election {
	return &Election{Object{cluster, "election", name}}
}

// ElectionCampaignOptions holds what campaign may be given besides.
type ElectionCampaignOptions struct {
	Data any
}

// ElectionCampaignResult is what campaign gives.
type ElectionCampaignResult struct {
	Leader bool  `json:"leader"`
	Term   int64 `json:"term"`
	Fence  int64 `json:"fence"`
}

// Campaign gives leader, term, fence.
func (o *Election) Campaign(ctx context.Context, wait Wait, name string, options ...ElectionCampaignOptions) (ElectionCampaignResult, error) {
	asked := call{kind: "blocking", method: "campaign", args: arguments{"name": name}, wait: wait}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	var result ElectionCampaignResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Resign gives resigned.
func (o *Election) Resign(ctx context.Context, fence int64) (bool, error) {
	asked := call{kind: "owned", method: "resign", args: arguments{"fence": fence}}
	var result struct {
		One bool `json:"resigned"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Proclaim gives term.
func (o *Election) Proclaim(ctx context.Context, fence int64, data any) (int64, error) {
	asked := call{kind: "owned", method: "proclaim", args: arguments{"fence": fence, "data": data}}
	var result struct {
		One int64 `json:"term"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// ElectionObserveOptions holds what observe may be given besides.
type ElectionObserveOptions struct {
	Term *int64
}

// ElectionObserveResult is what observe gives.
type ElectionObserveResult struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Term int64           `json:"term"`
}

// Observe gives name, data, term.
func (o *Election) Observe(ctx context.Context, wait Wait, options ...ElectionObserveOptions) (ElectionObserveResult, error) {
	asked := call{kind: "blocking", method: "observe", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.Term != nil {
			asked.args["term"] = option.Term
		}
	}
	var result ElectionObserveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ElectionLeaderOptions holds what leader may be given besides.
type ElectionLeaderOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// ElectionLeaderResult is what leader gives.
type ElectionLeaderResult struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Term int64           `json:"term"`
}

// Leader gives name, data, term.
func (o *Election) Leader(ctx context.Context, options ...ElectionLeaderOptions) (ElectionLeaderResult, error) {
	asked := call{kind: "query", method: "leader", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result ElectionLeaderResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ElectionCandidatesOptions holds what candidates may be given besides.
type ElectionCandidatesOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Candidates gives candidates.
func (o *Election) Candidates(ctx context.Context, options ...ElectionCandidatesOptions) ([]string, error) {
	asked := call{kind: "query", method: "candidates", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One []string `json:"candidates"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Lead acquires, and keeps watch: what it gives knows when it is lost.
func (o *Election) Lead(ctx context.Context, wait Wait, name string, options ...ElectionCampaignOptions) (*Held, error) {
	asked := call{kind: "blocking", method: "campaign", args: arguments{"name": name}, wait: wait}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		return call{kind: "owned", method: "resign", args: args}
	})
}

// RateLimiter is a token bucket for each key.
type RateLimiter struct{ Object }

// NewRateLimiter names one; it exists once it is used.
func NewRateLimiter(cluster *Cluster, name string) *RateLimiter {
	return &RateLimiter{Object{cluster, "ratelimiter", name}}
}

// RateLimiterAcquireOptions holds what acquire may be given besides.
type RateLimiterAcquireOptions struct {
	N   *int64
	Key string
}

// RateLimiterAcquireResult is what acquire gives.
type RateLimiterAcquireResult struct {
	Granted      bool  `json:"granted"`
	Remaining    int64 `json:"remaining"`
	RetryAfterMs int64 `json:"retry_after_ms"`
}

// Acquire gives granted, remaining, retry_after_ms.
func (o *RateLimiter) Acquire(ctx context.Context, wait Wait, options ...RateLimiterAcquireOptions) (RateLimiterAcquireResult, error) {
	asked := call{kind: "blocking", method: "acquire", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
		if option.Key != "" {
			asked.args["key"] = option.Key
		}
	}
	var result RateLimiterAcquireResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// RateLimiterConfigureOptions holds what configure may be given besides.
type RateLimiterConfigureOptions struct {
	PerSecond *int64
	Burst     *int64
}

// RateLimiterConfigureResult is what configure gives.
type RateLimiterConfigureResult struct {
	PerSecond int64 `json:"per_second"`
	Burst     int64 `json:"burst"`
}

// Configure gives per_second, burst.
func (o *RateLimiter) Configure(ctx context.Context, options ...RateLimiterConfigureOptions) (RateLimiterConfigureResult, error) {
	asked := call{kind: "command", method: "configure", args: arguments{}}
	for _, option := range options {
		if option.PerSecond != nil {
			asked.args["per_second"] = option.PerSecond
		}
		if option.Burst != nil {
			asked.args["burst"] = option.Burst
		}
	}
	var result RateLimiterConfigureResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// RateLimiterPeekOptions holds what peek may be given besides.
type RateLimiterPeekOptions struct {
	Key string
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// RateLimiterPeekResult is what peek gives.
type RateLimiterPeekResult struct {
	Remaining int64 `json:"remaining"`
	PerSecond int64 `json:"per_second"`
	Burst     int64 `json:"burst"`
	Waiting   int64 `json:"waiting"`
}

// Peek gives remaining, per_second, burst, waiting.
func (o *RateLimiter) Peek(ctx context.Context, options ...RateLimiterPeekOptions) (RateLimiterPeekResult, error) {
	asked := call{kind: "query", method: "peek", args: arguments{}}
	for _, option := range options {
		if option.Key != "" {
			asked.args["key"] = option.Key
		}
		asked.stale = option.Stale
	}
	var result RateLimiterPeekResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Ids is numbers, or ULIDs, that are never given twice.
type Ids struct{ Object }

// NewIds names one; it exists once it is used.
func NewIds(cluster *Cluster, name string) *Ids {
	return &Ids{Object{cluster, "ids", name}}
}

// IdsNextOptions holds what next may be given besides.
type IdsNextOptions struct {
	N *int64
}

// IdsNextResult is what next gives.
type IdsNextResult struct {
	First json.RawMessage `json:"first"`
	Last  json.RawMessage `json:"last"`
}

// Next gives first, last.
func (o *Ids) Next(ctx context.Context, options ...IdsNextOptions) (IdsNextResult, error) {
	asked := call{kind: "command", method: "next", args: arguments{}}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result IdsNextResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// IdsPeekOptions holds what peek may be given besides.
type IdsPeekOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Peek gives next.
func (o *Ids) Peek(ctx context.Context, options ...IdsPeekOptions) (json.RawMessage, error) {
	asked := call{kind: "query", method: "peek", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One json.RawMessage `json:"next"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Names is records of names.
type Names struct{ Object }

// NewNames names one; it exists once it is used.
func NewNames(cluster *Cluster, name string) *Names {
	return &Names{Object{cluster, "names", name}}
}

// NamesSetResult is what set gives.
type NamesSetResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Set gives records, changed.
func (o *Names) Set(ctx context.Context, name string, record any) (NamesSetResult, error) {
	asked := call{kind: "command", method: "set", args: arguments{"name": name, "record": record}}
	var result NamesSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesAddResult is what add gives.
type NamesAddResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Add gives records, changed.
func (o *Names) Add(ctx context.Context, name string, record any) (NamesAddResult, error) {
	asked := call{kind: "command", method: "add", args: arguments{"name": name, "record": record}}
	var result NamesAddResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesRemoveOptions holds what remove may be given besides.
type NamesRemoveOptions struct {
	Record any
}

// NamesRemoveResult is what remove gives.
type NamesRemoveResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Remove gives records, changed.
func (o *Names) Remove(ctx context.Context, name string, options ...NamesRemoveOptions) (NamesRemoveResult, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"name": name}}
	for _, option := range options {
		if option.Record != nil {
			asked.args["record"] = option.Record
		}
	}
	var result NamesRemoveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesListOptions holds what list may be given besides.
type NamesListOptions struct {
	Name  string
	After string
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// NamesListResult is what list gives.
type NamesListResult struct {
	Records []json.RawMessage `json:"records"`
	Names   []NameRecords     `json:"names"`
	Next    string            `json:"next"`
}

// List gives records, names, next.
func (o *Names) List(ctx context.Context, options ...NamesListOptions) (NamesListResult, error) {
	asked := call{kind: "query", method: "list", args: arguments{}}
	for _, option := range options {
		if option.Name != "" {
			asked.args["name"] = option.Name
		}
		if option.After != "" {
			asked.args["after"] = option.After
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result NamesListResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}
