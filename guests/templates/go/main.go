// A type of live objects. Upload it, create an object, and call it:
//
//	diwan object put .
//	diwan object create TYPE_NAME/first
//	diwan object call TYPE_NAME/first hit '{"by":2}'
package main

import "diwan/object"

// Hits is the object: its fields are its state.
type Hits struct{ Count int64 }

// StartArgs are the constructor's. A pointer may be left out.
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
	sum := h.Count + by
	if (sum > h.Count) != (by > 0) {
		return Counted{}, object.Refuse("overflow", "more hits than can be counted")
	}
	h.Count = sum
	return Counted{sum}, nil
}

// Get tells how many there are.
func (h *Hits) Get(object.None) (Counted, error) { return Counted{h.Count}, nil }

func init() {
	object.Export("TYPE_NAME", create, object.Command("hit", (*Hits).Hit), object.Query("get", (*Hits).Get))
}

func main() { object.Main() }
