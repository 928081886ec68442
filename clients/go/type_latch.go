// Made by clients/generate/main.py.

package objects

import "context"

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
