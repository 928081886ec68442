package object

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type sums struct{ Sum int64 }

type addArgs struct {
	By   int64   `json:"by"`
	Note *string `json:"note"`
}

func (s *sums) add(args addArgs) (int64, error) {
	if args.By < 0 {
		return 0, Refuse("negative", "only more")
	}
	s.Sum += args.By
	return s.Sum, nil
}

func (s *sums) get(None) (int64, error) { return s.Sum, nil }

func export() {
	Export("sums", func(None) (*sums, error) { return &sums{}, nil }, Command("add", (*sums).add), Query("get", (*sums).get))
	if _, err := create(nil); err != nil {
		panic(err)
	}
}

func refusedBy(t *testing.T, code, detail string) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		var refused *Refused
		if !errors.As(err, &refused) || refused.Code != code || !strings.HasPrefix(refused.Detail, detail) {
			t.Errorf("%v in place of %s: %s", err, code, detail)
		}
	}
}

func TestMethodsAreCalledByNameWithArgumentsByName(t *testing.T) {
	export()
	for _, wanted := range []int64{5, 10} {
		if got, err := call("add", []byte(`{"by":5,"wait_ms":0}`)); err != nil || got != wanted {
			t.Errorf("%v, %v in place of %d", got, err, wanted)
		}
	}
	refusedBy(t, "bad-argument", "`by`: is missing")(call("add", nil))
	refusedBy(t, "bad-argument", "`bye`: the method")(call("add", []byte(`{"by":1,"bye":1}`)))
	refusedBy(t, "bad-argument", "`by`: is a string")(call("add", []byte(`{"by":"x"}`)))
	refusedBy(t, "bad-argument", "no JSON object")(call("add", []byte(`[]`)))
	refusedBy(t, "negative", "only more")(call("add", []byte(`{"by":-1}`)))
	refusedBy(t, "no-such-method", "the type has")(call("sub", nil))
}

func TestStateMovesOnByItsExportedFields(t *testing.T) {
	export()
	exported.object.(*sums).Sum = 1 << 60
	saved, err := save()
	if err != nil {
		t.Fatal(err)
	}
	state := encoded(map[string]any{"description": nil, "state": saved})
	if err := migrate(state); err != nil || exported.object.(*sums).Sum != 1<<60 {
		t.Error(err, exported.object)
	}
}

func TestDescriptionNamesMethodsAndArguments(t *testing.T) {
	export()
	told, err := description()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(told, &got); err != nil {
		t.Fatal(err)
	}
	add := got["methods"].(map[string]any)["add"].(map[string]any)
	args := add["args"].(map[string]any)
	if add["kind"] != "command" || !reflect.DeepEqual(args["required"], []any{"by"}) {
		t.Error(string(told))
	}
	if note := args["properties"].(map[string]any)["note"]; !reflect.DeepEqual(note, map[string]any{"type": "string"}) {
		t.Error(note)
	}
	if got["session_expired"] != false {
		t.Error(string(told))
	}
}

func TestTextsAreCutOffBetweenCharacters(t *testing.T) {
	if got := bounded("aäb", 2); got != "a" {
		t.Error(got)
	}
}
