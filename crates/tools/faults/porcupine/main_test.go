package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func at(began, ended int64, one call) call {
	one.Began, one.Ended = began, &ended
	return one
}

func write(data string, over, version int) call {
	return call{Kind: "write", Data: data, Over: over, Outcome: "done", Version: version}
}

func seen(data string, version int) call {
	return call{Kind: "read", Data: data, Over: -1, Outcome: "done", Version: version}
}

func expect(t *testing.T, wanted porcupine.CheckResult, calls ...call) {
	t.Helper()
	if result, _ := judge(calls); result != wanted {
		t.Errorf("%s, not %s", result, wanted)
	}
}

func TestWhatIsAsItShouldBeIsTaken(t *testing.T) {
	expect(t, porcupine.Ok,
		at(0, 10, write("a", -1, 1)), at(5, 20, write("b", -1, 2)), at(12, 30, seen("a", 1)), at(31, 40, seen("b", 2)))
}

func TestAStaleReadIsRefused(t *testing.T) {
	expect(t, porcupine.Illegal, at(0, 10, write("a", -1, 1)), at(11, 20, seen("0", 0)))
}

func TestALostWriteIsRefused(t *testing.T) {
	expect(t, porcupine.Illegal, at(0, 10, write("a", -1, 1)), at(11, 20, write("b", -1, 1)))
}

func TestAWriteOverAnotherVersionIsRefused(t *testing.T) {
	expect(t, porcupine.Illegal, at(0, 10, write("a", -1, 1)), at(11, 20, write("b", 0, 2)))
}

func TestWhatIsUnknownHasComeOrNeverWill(t *testing.T) {
	unknown := at(0, 10, call{Kind: "write", Data: "a", Over: -1, Outcome: "unknown"})
	expect(t, porcupine.Ok, unknown, at(11, 20, seen("0", 0)))
	expect(t, porcupine.Ok, unknown, at(11, 20, seen("a", 1)))
	expect(t, porcupine.Illegal, unknown, at(11, 20, seen("a", 1)), at(21, 30, seen("0", 0)))
	expect(t, porcupine.Illegal, unknown, at(11, 20, seen("0", 0)), at(21, 30, seen("a", 1)))
	unknown.Ended = nil
	expect(t, porcupine.Ok, unknown, at(11, 20, seen("0", 0)), at(21, 30, seen("a", 1)))
}
