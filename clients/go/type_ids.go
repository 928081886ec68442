// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

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
