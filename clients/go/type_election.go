// Made by clients/generate/main.py.

package objects

import (
	"context"
	"encoding/json"
)

// Election is an election: one leader at a time, under a term.
type Election struct{ Object }

// NewElection names one; it exists once it is used.
func NewElection(cluster *Cluster, name string) *Election {
	return &Election{Object{cluster, "election", name}}
}

// ElectionCampaignOptions holds what campaign may be given besides.
type ElectionCampaignOptions struct {
	Data any
}

// ElectionCampaignResult is what campaign gives.
type ElectionCampaignResult struct {
	Leader bool  `json:"leader"`
	Term   int64 `json:"term"`
	Fence  int64 `json:"fence"`
}

// Campaign gives leader, term, fence.
func (o *Election) Campaign(ctx context.Context, wait Wait, name string, options ...ElectionCampaignOptions) (ElectionCampaignResult, error) {
	asked := call{kind: "blocking", method: "campaign", args: arguments{"name": name}, wait: wait}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	var result ElectionCampaignResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Resign gives resigned.
func (o *Election) Resign(ctx context.Context, fence int64) (bool, error) {
	asked := call{kind: "owned", method: "resign", args: arguments{"fence": fence}}
	var result struct {
		One bool `json:"resigned"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Proclaim gives term.
func (o *Election) Proclaim(ctx context.Context, fence int64, data any) (int64, error) {
	asked := call{kind: "owned", method: "proclaim", args: arguments{"fence": fence, "data": data}}
	var result struct {
		One int64 `json:"term"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// ElectionObserveOptions holds what observe may be given besides.
type ElectionObserveOptions struct {
	Term *int64
}

// ElectionObserveResult is what observe gives.
type ElectionObserveResult struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Term int64           `json:"term"`
}

// Observe gives name, data, term.
func (o *Election) Observe(ctx context.Context, wait Wait, options ...ElectionObserveOptions) (ElectionObserveResult, error) {
	asked := call{kind: "blocking", method: "observe", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.Term != nil {
			asked.args["term"] = option.Term
		}
	}
	var result ElectionObserveResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ElectionLeaderOptions holds what leader may be given besides.
type ElectionLeaderOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// ElectionLeaderResult is what leader gives.
type ElectionLeaderResult struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Term int64           `json:"term"`
}

// Leader gives name, data, term.
func (o *Election) Leader(ctx context.Context, options ...ElectionLeaderOptions) (ElectionLeaderResult, error) {
	asked := call{kind: "query", method: "leader", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result ElectionLeaderResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// ElectionCandidatesOptions holds what candidates may be given besides.
type ElectionCandidatesOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// Candidates gives candidates.
func (o *Election) Candidates(ctx context.Context, options ...ElectionCandidatesOptions) ([]string, error) {
	asked := call{kind: "query", method: "candidates", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result struct {
		One []string `json:"candidates"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Lead acquires, and keeps watch: what it gives knows when it is lost.
func (o *Election) Lead(ctx context.Context, wait Wait, name string, options ...ElectionCampaignOptions) (*Held, error) {
	asked := call{kind: "blocking", method: "campaign", args: arguments{"name": name}, wait: wait}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	return o.hold(ctx, asked, func(fence int64) call {
		args := arguments{"fence": fence}
		return call{kind: "owned", method: "resign", args: args}
	})
}
