// Made by clients/generate/main.py.

package objects

import "context"

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
