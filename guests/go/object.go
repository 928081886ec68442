// Package object is what types of live objects are written against: a plain struct, its methods, and Export, which names the methods
// that callers may call.
//
//	type Hits struct{ Count int64 }
//
//	type HitArgs struct {
//		By *int64 `json:"by"` // a pointer may be left out
//	}
//
//	func (h *Hits) Hit(args HitArgs) (int64, error) {
//		if args.By != nil { ... }
//	}
//
//	func init() {
//		object.Export("hits", func(object.None) (*Hits, error) { return &Hits{}, nil },
//			object.Command("hit", (*Hits).Hit),
//			object.Query("get", (*Hits).Get))
//	}
//
//	func main() { object.Main() }
//
// Each member of the cluster runs each command, so equal calls must lead to equal objects everywhere. A module has no clock, no files
// and no network: time.Now and the random numbers of the standard library follow from the command. Goroutines must have ended when a
// method returns: what is left of them goes on in the next call. A method that returns an error, or panics, has changed nothing.
//
// What a type keeps for a later version is its exported fields, unless it has Save and Migrate.
package object

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// None is for methods without arguments, or without a result.
type None struct{}

// Method is a method that callers may call.
type Method struct {
	name, kind string
	arguments  reflect.Type
	call       func(object any, json []byte) (any, error)
}

// Command is a method that may change the object.
func Command[T, A, R any](name string, method func(*T, A) (R, error)) Method {
	return named(name, "command", method)
}

// Query is a method that only reads. What it changes is thrown away.
func Query[T, A, R any](name string, method func(*T, A) (R, error)) Method {
	return named(name, "query", method)
}

// Blocking is a command that may wait: what it returns is not used if it has called Park.
func Blocking[T, A, R any](name string, method func(*T, A) (R, error)) Method {
	return named(name, "blocking", method)
}

func named[T, A, R any](name, kind string, method func(*T, A) (R, error)) Method {
	of := reflect.TypeFor[A]()
	list := argumentsOf(of)
	return Method{name, kind, of, func(object any, json []byte) (any, error) {
		args, err := arguments[A](list, json)
		if err != nil {
			return nil, err
		}
		result, err := method(object.(*T), args)
		if _, none := any(result).(None); none {
			return nil, err
		}
		return result, err
	}}
}

// exported is the type that this module is.
var exported struct {
	name        string
	constructor reflect.Type
	methods     []Method
	create      func(json []byte) (any, error)
	empty       func() any
	object      any
}

// Export says what the type is. It is called by the program's init.
func Export[T, A any](name string, create func(A) (*T, error), methods ...Method) {
	exported.name, exported.methods, exported.constructor = name, methods, reflect.TypeFor[A]()
	list := argumentsOf(exported.constructor)
	exported.empty = func() any { return new(T) }
	exported.create = func(json []byte) (any, error) {
		args, err := arguments[A](list, json)
		if err != nil {
			return nil, err
		}
		return create(args)
	}
}

// Saver is a type that says what it keeps for a later version.
type Saver interface{ Save() (any, error) }

// Migrator is a type that takes over what an earlier version saved: its description, and its state.
type Migrator interface {
	Migrate(description, state json.RawMessage) error
}

// Timer is a type that has timers.
type Timer interface{ Timer(id uint64) error }

// TicketEnder is a type that wants to know which waiting calls have ended without its doing: by their time, or their caller.
type TicketEnder interface{ TicketEnded(ticket Ticket) error }

// SessionExpirer is a type that frees what a session held when the session has ended.
type SessionExpirer interface{ SessionExpired(session string) error }

func create(json []byte) (any, error) {
	object, err := exported.create(json)
	exported.object = object
	return nil, err
}

func call(method string, json []byte) (any, error) {
	for _, own := range exported.methods {
		if own.name == method {
			return own.call(exported.object, json)
		}
	}
	return nil, Refuse("no-such-method", fmt.Sprintf("the type has no method `%s`", method))
}

func save() (any, error) {
	if saver, is := exported.object.(Saver); is {
		return saver.Save()
	}
	return exported.object, nil
}

func migrate(told []byte) error {
	var from struct{ Description, State json.RawMessage }
	if err := json.Unmarshal(told, &from); err != nil {
		return err
	}
	exported.object = exported.empty()
	if migrator, is := exported.object.(Migrator); is {
		return migrator.Migrate(from.Description, from.State)
	}
	return json.Unmarshal(from.State, exported.object)
}

func timer(id uint64) error {
	if told, is := exported.object.(Timer); is {
		return told.Timer(id)
	}
	return nil
}

func ticketEnded(ticket uint64) error {
	if told, is := exported.object.(TicketEnder); is {
		return told.TicketEnded(Ticket(ticket))
	}
	return nil
}

func sessionExpired(session string) error {
	if told, is := exported.object.(SessionExpirer); is {
		return told.SessionExpired(session)
	}
	return nil
}
