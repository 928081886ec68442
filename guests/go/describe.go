package object

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
)

// What the engine grants a program in Go, whose library takes more of everything than other modules' do.
const fuel = 1_000_000_000

type object = map[string]any

// description is what others are told of the type: the section `diwan.type` of its module.
func description() ([]byte, error) {
	methods := object{}
	for _, method := range exported.methods {
		methods[method.name] = object{"kind": method.kind, "args": schema(method.arguments)}
	}
	_, caresForSessions := exported.empty().(SessionExpirer)
	return json.Marshal(object{
		"name": exported.name, "codec": "json", "methods": methods, "constructor": object{"args": schema(exported.constructor)},
		"session_expired": caresForSessions, "limits": object{"fuel": fuel},
	})
}

func schema(of reflect.Type) object {
	properties, required := object{}, []string{}
	for _, argument := range argumentsOf(of) {
		properties[argument.name] = object{}
		if kind := kindOf(argument.kind); kind != "" {
			properties[argument.name] = object{"type": kind}
		}
		if !argument.optional {
			required = append(required, argument.name)
		}
	}
	told := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		told["required"] = required
	}
	return told
}

// kindOf is what JSON Schema calls it; nothing if it may be anything.
func kindOf(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return kindOf(of.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return ""
}

// Main is the program's main. In a module nobody calls it; on its author's machine it tells what the type is, for
// `diwan object put`.
func Main() {
	told, err := description()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(told))
}
