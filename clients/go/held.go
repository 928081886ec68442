package objects

import (
	"context"
	"sync/atomic"
	"time"
)

// Held is a grant. Its fence goes along with every write to what it protects.
type Held struct {
	Fence    int64
	of, name string
	object   *Object
	session  *session
	context  context.Context
	cancel   context.CancelCauseFunc
	back     call
	lost     atomic.Bool
}

// hold acquires, and keeps watch over the grant. It waits again when the longest wait of the server has passed.
func (o *Object) hold(ctx context.Context, asked call, back func(fence int64) call) (*Held, error) {
	for {
		var got struct {
			Acquired, Leader bool
			Fence            int64
		}
		session, err := o.do(ctx, asked, &got)
		if err != nil {
			return nil, err
		}
		if got.Acquired || got.Leader {
			held := &Held{Fence: got.Fence, of: o.of, name: o.name, object: o, session: session, back: back(got.Fence)}
			held.context, held.cancel = context.WithCancelCause(ctx)
			session.mutex.Lock()
			ended := session.ended
			session.held[held] = true
			session.mutex.Unlock()
			if ended != nil {
				held.lose()
			}
			return held, nil
		}
		if asked.wait.limit != nil {
			return nil, ErrNotAcquired
		}
	}
}

// Context ends when the grant is lost, with ErrLost as its cause, when it is released, or with the context of the call.
func (h *Held) Context() context.Context { return h.context }

// IsLost says whether somebody else may hold it by now. It never becomes false again.
func (h *Held) IsLost() bool {
	h.session.mutex.Lock()
	late := h.session.ended != nil || !time.Now().Before(h.session.lostAt())
	h.session.mutex.Unlock()
	if late {
		h.lose()
	}
	return h.lost.Load()
}

func (h *Held) lose() {
	h.lost.Store(true)
	h.cancel(ErrLost)
}

// Release gives it back. What is lost has nothing to give back.
func (h *Held) Release() error {
	h.session.mutex.Lock()
	delete(h.session.held, h)
	h.session.mutex.Unlock()
	h.cancel(context.Canceled)
	_, err := h.object.do(context.Background(), h.back, nil)
	for _, gone := range []string{"not-owner", "not-held", "stale-fence", "session-expired", "object-deleted"} {
		if IsProblem(err, gone) {
			return nil
		}
	}
	return err
}
