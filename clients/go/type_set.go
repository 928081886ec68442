// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

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
