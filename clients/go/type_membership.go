// Made by clients/generate/main.py.

package objects

import "context"

// Membership is who is there. Members leave with their session.
type Membership struct{ Object }

// NewMembership names one; it exists once it is used.
func NewMembership(cluster *Cluster, name string) *Membership {
	return &Membership{Object{cluster, "membership", name}}
}

// MembershipJoinOptions holds what join may be given besides.
type MembershipJoinOptions struct {
	Data any
}

// MembershipJoinResult is what join gives.
type MembershipJoinResult struct {
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// Join gives epoch, members.
func (o *Membership) Join(ctx context.Context, name string, options ...MembershipJoinOptions) (MembershipJoinResult, error) {
	asked := call{kind: "owned", method: "join", args: arguments{"name": name}}
	for _, option := range options {
		if option.Data != nil {
			asked.args["data"] = option.Data
		}
	}
	var result MembershipJoinResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// Leave gives epoch.
func (o *Membership) Leave(ctx context.Context, name string) (int64, error) {
	asked := call{kind: "owned", method: "leave", args: arguments{"name": name}}
	var result struct {
		One int64 `json:"epoch"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// Update gives epoch.
func (o *Membership) Update(ctx context.Context, name string, data any) (int64, error) {
	asked := call{kind: "owned", method: "update", args: arguments{"name": name, "data": data}}
	var result struct {
		One int64 `json:"epoch"`
	}
	_, err := o.do(ctx, asked, &result)
	return result.One, err
}

// MembershipReportResult is what report gives.
type MembershipReportResult struct {
	Reports int64 `json:"reports"`
	Removed bool  `json:"removed"`
	Epoch   int64 `json:"epoch"`
}

// Report gives reports, removed, epoch.
func (o *Membership) Report(ctx context.Context, epoch int64, name string) (MembershipReportResult, error) {
	asked := call{kind: "owned", method: "report", args: arguments{"epoch": epoch, "name": name}}
	var result MembershipReportResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipAwaitChangeResult is what await_change gives.
type MembershipAwaitChangeResult struct {
	Changed bool     `json:"changed"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// AwaitChange gives changed, epoch, members.
func (o *Membership) AwaitChange(ctx context.Context, wait Wait, epoch int64) (MembershipAwaitChangeResult, error) {
	asked := call{kind: "blocking", method: "await_change", args: arguments{"epoch": epoch}, wait: wait}
	var result MembershipAwaitChangeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipAwaitSizeOptions holds what await_size may be given besides.
type MembershipAwaitSizeOptions struct {
	N *int64
}

// MembershipAwaitSizeResult is what await_size gives.
type MembershipAwaitSizeResult struct {
	Reached bool     `json:"reached"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// AwaitSize gives reached, epoch, members.
func (o *Membership) AwaitSize(ctx context.Context, wait Wait, options ...MembershipAwaitSizeOptions) (MembershipAwaitSizeResult, error) {
	asked := call{kind: "blocking", method: "await_size", args: arguments{}, wait: wait}
	for _, option := range options {
		if option.N != nil {
			asked.args["n"] = option.N
		}
	}
	var result MembershipAwaitSizeResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}

// MembershipMembersOptions holds what members may be given besides.
type MembershipMembersOptions struct {
	// Stale asks a member's copy, not older than what this cluster object has seen.
	Stale bool
}

// MembershipMembersResult is what members gives.
type MembershipMembersResult struct {
	Enough  bool     `json:"enough"`
	Epoch   int64    `json:"epoch"`
	Members []Member `json:"members"`
}

// Members gives enough, epoch, members.
func (o *Membership) Members(ctx context.Context, options ...MembershipMembersOptions) (MembershipMembersResult, error) {
	asked := call{kind: "query", method: "members", args: arguments{}}
	for _, option := range options {
		asked.stale = option.Stale
	}
	var result MembershipMembersResult
	_, err := o.do(ctx, asked, &result)
	return result, err
}
