// Made by clients/generate/main.py.

package objects

import "context"

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
