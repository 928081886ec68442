// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

// Log is entries under rising indexes.
type Log struct{ Object }

// NewLog names one; it exists once it is used.
func NewLog(cluster *Cluster, name string) *Log {
	return &Log{Object{cluster, "log", name}}
}

// Append gives index.
func (o *Log) Append(ctx context.Context, entry any) (int64, error) {
	asked := call{kind: "command", method: "append", args: arguments{"entry": entry}}
	var result struct {
		One int64 `json:"index"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// LogTrimResult is what trim gives.
type LogTrimResult struct {
	Trimmed int64 `json:"trimmed"`
	First   int64 `json:"first"`
}

// Trim gives trimmed, first.
func (o *Log) Trim(ctx context.Context, before int64) (LogTrimResult, error) {
	asked := call{kind: "command", method: "trim", args: arguments{"before": before}}
	var result LogTrimResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// LogReadOptions holds what read may be given besides.
type LogReadOptions struct {
	From  *int64
	Limit *int64
}

// LogReadResult is what read gives.
type LogReadResult struct {
	Entries []json.RawMessage `json:"entries"`
	First   int64             `json:"first"`
	Next    int64             `json:"next"`
}

// Read gives entries, first, next.
func (o *Log) Read(ctx context.Context, wait Wait, options ...LogReadOptions) (LogReadResult, error) {
	asked := call{kind: "either", method: "read", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.From != nil {
			asked.args["from"] = option.From
		}
		if option.Limit != nil {
			asked.args["limit"] = option.Limit
		}
	}
	var result LogReadResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}
