// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

// Names is records of names.
type Names struct{ Object }

// NewNames names one; it exists once it is used.
func NewNames(cluster *Cluster, name string) *Names {
	return &Names{Object{cluster, "names", name}}
}

// NamesSetResult is what set gives.
type NamesSetResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Set gives records, changed.
func (o *Names) Set(ctx context.Context, name string, record any) (NamesSetResult, error) {
	asked := call{kind: "command", method: "set", args: arguments{"name": name, "record": record}}
	var result NamesSetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesAddResult is what add gives.
type NamesAddResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Add gives records, changed.
func (o *Names) Add(ctx context.Context, name string, record any) (NamesAddResult, error) {
	asked := call{kind: "command", method: "add", args: arguments{"name": name, "record": record}}
	var result NamesAddResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesRemoveOptions holds what remove may be given besides.
type NamesRemoveOptions struct {
	Record any
}

// NamesRemoveResult is what remove gives.
type NamesRemoveResult struct {
	Records int64 `json:"records"`
	Changed bool  `json:"changed"`
}

// Remove gives records, changed.
func (o *Names) Remove(ctx context.Context, name string, options ...NamesRemoveOptions) (NamesRemoveResult, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"name": name}}
	for _, option := range options {
		if option.Record != nil {
			asked.args["record"] = option.Record
		}
	}
	var result NamesRemoveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// NamesListOptions holds what list may be given besides.
type NamesListOptions struct {
	Name  string
	After string
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// NamesListResult is what list gives.
type NamesListResult struct {
	Records []json.RawMessage `json:"records"`
	Names   []NameRecords     `json:"names"`
	Next    string            `json:"next"`
}

// List gives records, names, next.
func (o *Names) List(ctx context.Context, options ...NamesListOptions) (NamesListResult, error) {
	asked := call{kind: "query", method: "list", args: arguments{}}
	for _, option := range options {
		if option.Name != "" {
			asked.args["name"] = option.Name
		}
		if option.After != "" {
			asked.args["after"] = option.After
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result NamesListResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}
