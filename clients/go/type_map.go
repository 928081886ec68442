// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

// Map is a map, ordered by its keys.
type Map struct{ Object }

// NewMap names one; it exists once it is used.
func NewMap(cluster *Cluster, name string) *Map {
	return &Map{Object{cluster, "map", name}}
}

// MapPutOptions holds what put may be given besides.
type MapPutOptions struct {
	TtlMs     *int64
	IfVersion *int64
	IfAbsent  bool
}

// MapPutResult is what put gives.
type MapPutResult struct {
	Stored   bool            `json:"stored"`
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Put gives stored, version, previous.
func (o *Map) Put(ctx context.Context, key string, value any, options ...MapPutOptions) (MapPutResult, error) {
	asked := call{kind: "command", method: "put", args: arguments{"key": key, "value": value}}
	for _, option := range options {
		if option.TtlMs != nil {
			asked.args["ttl_ms"] = option.TtlMs
		}
		if option.IfVersion != nil {
			asked.args["if_version"] = option.IfVersion
		}
		if option.IfAbsent != false {
			asked.args["if_absent"] = option.IfAbsent
		}
	}
	var result MapPutResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapRemoveOptions holds what remove may be given besides.
type MapRemoveOptions struct {
	IfVersion *int64
}

// MapRemoveResult is what remove gives.
type MapRemoveResult struct {
	Removed  bool            `json:"removed"`
	Version  int64           `json:"version"`
	Previous json.RawMessage `json:"previous"`
}

// Remove gives removed, version, previous.
func (o *Map) Remove(ctx context.Context, key string, options ...MapRemoveOptions) (MapRemoveResult, error) {
	asked := call{kind: "command", method: "remove", args: arguments{"key": key}}
	for _, option := range options {
		if option.IfVersion != nil {
			asked.args["if_version"] = option.IfVersion
		}
	}
	var result MapRemoveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapAddOptions holds what add may be given besides.
type MapAddOptions struct {
	By *int64
}

// MapAddResult is what add gives.
type MapAddResult struct {
	Value   int64 `json:"value"`
	Version int64 `json:"version"`
}

// Add gives value, version.
func (o *Map) Add(ctx context.Context, key string, options ...MapAddOptions) (MapAddResult, error) {
	asked := call{kind: "command", method: "add", args: arguments{"key": key}}
	for _, option := range options {
		if option.By != nil {
			asked.args["by"] = option.By
		}
	}
	var result MapAddResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapPutAllResult is what put_all gives.
type MapPutAllResult struct {
	Stored  int64 `json:"stored"`
	Version int64 `json:"version"`
}

// PutAll gives stored, version.
func (o *Map) PutAll(ctx context.Context, entries map[string]any) (MapPutAllResult, error) {
	asked := call{kind: "command", method: "put_all", args: arguments{"entries": entries}}
	var result MapPutAllResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Clear gives removed.
func (o *Map) Clear(ctx context.Context) (int64, error) {
	asked := call{kind: "command", method: "clear", args: arguments{}}
	var result struct {
		One int64 `json:"removed"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapAwaitChangeResult is what await_change gives.
type MapAwaitChangeResult struct {
	Changed bool            `json:"changed"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// AwaitChange gives changed, value, version.
func (o *Map) AwaitChange(ctx context.Context, wait Wait, key string, version int64) (MapAwaitChangeResult, error) {
	asked := call{kind: "blocking", method: "await_change", args: arguments{"key": key, "version": version}, wait: wait}
	var result MapAwaitChangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapGetOptions holds what get may be given besides.
type MapGetOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapGetResult is what get gives.
type MapGetResult struct {
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

// Get gives value, version.
func (o *Map) Get(ctx context.Context, key string, options ...MapGetOptions) (MapGetResult, error) {
	asked := call{kind: "query", method: "get", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MapGetResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapGetAllOptions holds what get_all may be given besides.
type MapGetAllOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// GetAll gives entries.
func (o *Map) GetAll(ctx context.Context, keys []string, options ...MapGetAllOptions) ([]Entry, error) {
	asked := call{kind: "query", method: "get_all", args: arguments{"keys": keys}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One []Entry `json:"entries"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapContainsOptions holds what contains may be given besides.
type MapContainsOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Contains gives contains.
func (o *Map) Contains(ctx context.Context, key string, options ...MapContainsOptions) (bool, error) {
	asked := call{kind: "query", method: "contains", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One bool `json:"contains"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapSizeOptions holds what size may be given besides.
type MapSizeOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapSizeResult is what size gives.
type MapSizeResult struct {
	Size  int64 `json:"size"`
	Bytes int64 `json:"bytes"`
}

// Size gives size, bytes.
func (o *Map) Size(ctx context.Context, options ...MapSizeOptions) (MapSizeResult, error) {
	asked := call{kind: "query", method: "size", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MapSizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MapFirstOptions holds what first may be given besides.
type MapFirstOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// First gives entry.
func (o *Map) First(ctx context.Context, options ...MapFirstOptions) (*Entry, error) {
	asked := call{kind: "query", method: "first", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapLastOptions holds what last may be given besides.
type MapLastOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Last gives entry.
func (o *Map) Last(ctx context.Context, options ...MapLastOptions) (*Entry, error) {
	asked := call{kind: "query", method: "last", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapFloorOptions holds what floor may be given besides.
type MapFloorOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Floor gives entry.
func (o *Map) Floor(ctx context.Context, key string, options ...MapFloorOptions) (*Entry, error) {
	asked := call{kind: "query", method: "floor", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapCeilingOptions holds what ceiling may be given besides.
type MapCeilingOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Ceiling gives entry.
func (o *Map) Ceiling(ctx context.Context, key string, options ...MapCeilingOptions) (*Entry, error) {
	asked := call{kind: "query", method: "ceiling", args: arguments{"key": key}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One *Entry `json:"entry"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MapRangeOptions holds what range may be given besides.
type MapRangeOptions struct {
	From  string
	To    string
	Limit *int64
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MapRangeResult is what range gives.
type MapRangeResult struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next"`
}

// Range gives entries, next.
func (o *Map) Range(ctx context.Context, options ...MapRangeOptions) (MapRangeResult, error) {
	asked := call{kind: "query", method: "range", args: arguments{}}
	for _, option := range options {
		if option.From != "" {
			asked.args["from"] = option.From
		}
		if option.To != "" {
			asked.args["to"] = option.To
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
		asked.stale = option.Stale
	}
	var result MapRangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}
