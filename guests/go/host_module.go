//go:build wasip1

package object

import "unsafe"

//go:wasmimport diwan_1 now_ms
func hostNowMs() int64

//go:wasmimport diwan_1 position
func hostPosition() uint64

//go:wasmimport diwan_1 park
func hostPark(tag uint64, waitMs int64) uint64

//go:wasmimport diwan_1 timer_set
func hostTimerSet(id uint64, afterMs int64)

//go:wasmimport diwan_1 timer_clear
func hostTimerClear(id uint64)

//go:wasmimport diwan_1 random
func importRandom(start unsafe.Pointer, length uint32)

//go:wasmimport diwan_1 caller
func importCaller(start unsafe.Pointer, length uint32) uint32

//go:wasmimport diwan_1 wake
func importWake(ticket uint64, start unsafe.Pointer, length uint32) uint32

//go:wasmimport diwan_1 fail
func importFail(ticket uint64, code unsafe.Pointer, codeLength uint32, detail unsafe.Pointer, detailLength uint32) uint32

//go:wasmimport diwan_1 emit
func importEmit(topic unsafe.Pointer, topicLength uint32, start unsafe.Pointer, length uint32)

//go:wasmimport diwan_1 send
func importSend(target unsafe.Pointer, targetLength uint32, method unsafe.Pointer, methodLength uint32, arguments unsafe.Pointer, argumentsLength uint32)

//go:wasmimport diwan_1 log
func importLog(start unsafe.Pointer, length uint32)

func place(bytes []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(bytes)), uint32(len(bytes))
}

func textPlace(text string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(text)), uint32(len(text))
}

func hostRandom(bytes []byte) { importRandom(place(bytes)) }

func hostCaller() []byte {
	told := make([]byte, 256)
	for {
		length := int(importCaller(place(told)))
		if length <= len(told) {
			return told[:length]
		}
		told = make([]byte, length)
	}
}

func hostWake(ticket uint64, result []byte) bool {
	start, length := place(result)
	return importWake(ticket, start, length) == 1
}

func hostFail(ticket uint64, code, detail string) bool {
	codeStart, codeLength := textPlace(code)
	detailStart, detailLength := textPlace(detail)
	return importFail(ticket, codeStart, codeLength, detailStart, detailLength) == 1
}

func hostEmit(topic string, body []byte) {
	topicStart, topicLength := textPlace(topic)
	start, length := place(body)
	importEmit(topicStart, topicLength, start, length)
}

func hostSend(target, method string, arguments []byte) {
	targetStart, targetLength := textPlace(target)
	methodStart, methodLength := textPlace(method)
	start, length := place(arguments)
	importSend(targetStart, targetLength, methodStart, methodLength, start, length)
}

func hostLog(line string) {
	start, length := textPlace(line)
	importLog(start, length)
}
