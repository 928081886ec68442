package object

import "errors"

// Refused is an error by which a call is refused: the caller gets the code and the text, and the object is as before.
type Refused struct{ Code, Detail string }

func (r *Refused) Error() string { return r.Code + ": " + r.Detail }

// Refuse makes one.
func Refuse(code, detail string) error { return &Refused{code, detail} }

// refusal is what a caller is told of an error of any kind.
func refusal(err error) *Refused {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused
	}
	return &Refused{"error", err.Error()}
}
