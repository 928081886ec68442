// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

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
