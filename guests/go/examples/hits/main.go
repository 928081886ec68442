// Counts hits, and refuses to count further than 64 bits reach. The same as ../../../rust/examples/hits.rs.
package main

import (
	"math"

	"diwan/object"
)

// Hits is the object.
type Hits struct{ Count int64 }

// StartArgs are the constructor's.
type StartArgs struct {
	Start *int64 `json:"start"`
}

// HitArgs are the arguments of hit.
type HitArgs struct {
	By *int64 `json:"by"`
}

// Counted is what methods give.
type Counted struct {
	Count int64 `json:"count"`
}

func create(args StartArgs) (*Hits, error) {
	hits := &Hits{}
	if args.Start != nil {
		hits.Count = *args.Start
	}
	return hits, nil
}

// Hit counts hits.
func (h *Hits) Hit(args HitArgs) (Counted, error) {
	by := int64(1)
	if args.By != nil {
		by = *args.By
	}
	if by > 0 && h.Count > math.MaxInt64-by {
		return Counted{}, object.Refuse("overflow", "more hits than can be counted")
	}
	h.Count += by
	return h.Get(object.None{})
}

// Get tells how many there are.
func (h *Hits) Get(object.None) (Counted, error) { return Counted{h.Count}, nil }

func init() {
	object.Export("hits", create, object.Command("hit", (*Hits).Hit), object.Query("get", (*Hits).Get))
}

func main() { object.Main() }
