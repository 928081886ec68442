// Made by clients/generate/main.py.

package objects

import "context"

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
