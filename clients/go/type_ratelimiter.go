// Made by clients/generate/main.py.

package objects

import "context"

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
