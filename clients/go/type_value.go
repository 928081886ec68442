// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

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
