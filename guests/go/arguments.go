package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Arguments that the cluster reads, whatever the method.
var ofEveryCall = []string{"ttl_ms", "wait_ms"}

// argument is a field of a struct of arguments.
type argument struct {
	name     string
	place    int
	optional bool
	kind     reflect.Type
}

// argumentsOf lists the fields of a struct by the names that JSON has for them. A pointer may be left out.
func argumentsOf(of reflect.Type) []argument {
	var list []argument
	if of.Kind() != reflect.Struct {
		panic(fmt.Sprintf("arguments are a struct, not %v", of))
	}
	for place := range of.NumField() {
		field := of.Field(place)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		optional := field.Type.Kind() == reflect.Pointer
		list = append(list, argument{name, place, optional, field.Type})
	}
	return list
}

func wrong(name, what string) error {
	return Refuse("bad-argument", fmt.Sprintf("`%s`: %s", name, what))
}

// arguments reads the arguments of a call, which may be these. A misspelt one must not be taken for one that was left out.
func arguments[A any](list []argument, told []byte) (A, error) {
	var args A
	// Most calls have none.
	var given map[string]json.RawMessage
	if len(told) > 0 && string(told) != "{}" {
		if err := json.Unmarshal(told, &given); err != nil {
			return args, Refuse("bad-argument", "no JSON object: "+err.Error())
		}
	}
	for _, argument := range list {
		value, is := given[argument.name]
		delete(given, argument.name)
		if !is && argument.optional {
			continue
		}
		if !is {
			return args, wrong(argument.name, "is missing")
		}
		into := reflect.ValueOf(&args).Elem().Field(argument.place)
		if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
			return args, wrong(argument.name, of(err))
		}
	}
	var unknown []string
	for name := range given {
		if !slices.Contains(ofEveryCall, name) {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	if len(unknown) > 0 {
		return args, wrong(unknown[0], "the method has no such argument")
	}
	return args, nil
}

// of is what is wrong, for people.
func of(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Sprintf("is a %s, not a value for %v", kind.Value, kind.Type)
	}
	return err.Error()
}
