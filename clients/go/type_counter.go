// Made by clients/generate/main.py.

package objects

import "context"

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
