//go:build !wasip1

package object

// There is no cluster around a test of the author's: a method that asks it for something panics there.

func none[R any](name string) R { panic(name + " is there in a cluster only") }

func hostNowMs() int64                     { return none[int64]("NowMs") }
func hostPosition() uint64                 { return none[uint64]("Position") }
func hostPark(uint64, int64) uint64        { return none[uint64]("Park") }
func hostTimerSet(uint64, int64)           { none[None]("SetTimer") }
func hostTimerClear(uint64)                { none[None]("ClearTimer") }
func hostRandom([]byte)                    { none[None]("RandomBytes") }
func hostCaller() []byte                   { return none[[]byte]("WhoCalls") }
func hostWake(uint64, []byte) bool         { return none[bool]("Wake") }
func hostFail(uint64, string, string) bool { return none[bool]("Refuse") }
func hostEmit(string, []byte)              { none[None]("Emit") }
func hostSend(string, string, []byte)      { none[None]("Send") }
func hostLog(string)                       { none[None]("Log") }
