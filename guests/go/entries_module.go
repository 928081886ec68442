//go:build wasip1

package object

import (
	"fmt"
	"os"
	"unsafe"
)

var (
	// room is what the engine writes into that needs no more, if none of it is in use.
	room   [64]uint64
	isUsed bool
	// given is what the engine writes into otherwise; forgotten when the entry ends.
	given [][]uint64
	// result stays until the next one: the engine reads it after the entry.
	result []byte
)

//go:wasmexport alloc
func exportAlloc(length uint32) uint32 {
	// Aligned to 8: the arguments of a call stand behind the method's name.
	words := (max(length, 1) + 7) / 8
	if !isUsed && words <= uint32(len(room)) {
		isUsed = true
		return address(unsafe.Pointer(&room))
	}
	more := make([]uint64, words)
	given = append(given, more)
	return address(unsafe.Pointer(unsafe.SliceData(more)))
}

func address(pointer unsafe.Pointer) uint32 { return uint32(uintptr(pointer)) }

// read is what the engine wrote. It lasts until the entry ends.
func read(start unsafe.Pointer, length uint32) []byte { return unsafe.Slice((*byte)(start), length) }

// enter runs one entry. An error ends it: it is refused, and does not return. So does a panic.
func enter(entry func() (any, error)) any {
	defer func() {
		if panicked := recover(); panicked != nil {
			// What the engine tells people is what was logged last.
			Log(fmt.Sprint("panic: ", panicked))
			os.Exit(2)
		}
	}()
	parked = false
	value, err := entry()
	if err != nil {
		refused := refusal(err)
		hostFail(0, bounded(refused.Code, codeBytesMax), bounded(refused.Detail, detailBytesMax))
	}
	isUsed, given = false, nil
	if parked {
		return nil
	}
	return value
}

func handOver(value any) uint64 {
	result = encoded(value)
	return uint64(address(unsafe.Pointer(unsafe.SliceData(result))))<<32 | uint64(len(result))
}

func told(entry func() error) { enter(func() (any, error) { return nil, entry() }) }

//go:wasmexport init
func exportInit(start unsafe.Pointer, length uint32) {
	json := read(start, length)
	enter(func() (any, error) { return create(json) })
}

//go:wasmexport call
func exportCall(method unsafe.Pointer, methodLength uint32, start unsafe.Pointer, length uint32) uint64 {
	name, json := unsafe.String((*byte)(method), methodLength), read(start, length)
	return handOver(enter(func() (any, error) { return call(name, json) }))
}

//go:wasmexport save
func exportSave() uint64 { return handOver(enter(save)) }

//go:wasmexport migrate
func exportMigrate(start unsafe.Pointer, length uint32) {
	json := read(start, length)
	told(func() error { return migrate(json) })
}

//go:wasmexport timer
func exportTimer(id uint64) { told(func() error { return timer(id) }) }

//go:wasmexport ticket_ended
func exportTicketEnded(ticket uint64) { told(func() error { return ticketEnded(ticket) }) }

//go:wasmexport session_expired
func exportSessionExpired(start unsafe.Pointer, length uint32) {
	session := string(read(start, length))
	told(func() error { return sessionExpired(session) })
}
