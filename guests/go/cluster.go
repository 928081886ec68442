package object

import (
	"encoding/json"
	"math"
	"time"
)

// Ticket is a call that waits. The object keeps it, and ends it in a later command.
type Ticket uint64

// Forever is for calls whose caller says how long they wait.
const Forever time.Duration = -1

var parked bool

// Park has the running call wait, at most that long. The tag is the author's.
func Park(tag uint64, wait time.Duration) Ticket {
	parked = true
	return Ticket(hostPark(tag, milliseconds(wait)))
}

func milliseconds(time time.Duration) int64 {
	if time < 0 {
		return -1
	}
	return time.Milliseconds()
}

// Wake ends the call with a result. False: nobody waits under this ticket any more.
func (t Ticket) Wake(result any) bool { return hostWake(uint64(t), encoded(result)) }

// Refuse refuses the call. False: nobody waits under this ticket any more.
func (t Ticket) Refuse(why error) bool {
	refused := refusal(why)
	return hostFail(uint64(t), bounded(refused.Code, codeBytesMax), bounded(refused.Detail, detailBytesMax))
}

// NowMs is the time of the command, in milliseconds since 1970; a query sees that of the last command. It never goes back.
func NowMs() int64 { return hostNowMs() }

// Position is the number of the command in the order of all commands of its group.
func Position() uint64 { return hostPosition() }

// RandomBytes fills in random bytes. They are not secret: every member computes the same.
func RandomBytes(bytes []byte) {
	if len(bytes) > 0 {
		hostRandom(bytes)
	}
}

// Caller is who calls.
type Caller struct {
	// Session is 32 hexadecimal digits, or nothing.
	Session, Principal string
	// Request is the number of the request in its session, or its key.
	Request any
}

// WhoCalls tells who calls.
func WhoCalls() Caller {
	var caller Caller
	if err := json.Unmarshal(hostCaller(), &caller); err != nil {
		panic(err)
	}
	return caller
}

// SetTimer asks for a call of Timer after that time, in the place of an earlier timer of that id.
func SetTimer(id uint64, after time.Duration) { hostTimerSet(id, max(after.Milliseconds(), 0)) }

// ClearTimer does not ask for it any more.
func ClearTimer(id uint64) { hostTimerClear(id) }

// Emit tells something to those who listen to the object, if the call succeeds.
func Emit(topic string, body any) { hostEmit(topic, encoded(body)) }

// Send has a method of another object, TYPE/NAME, called later, once, if this call succeeds. The arguments are whatever JSON
// tells as an object. Nobody hears of the result.
func Send(target, method string, arguments any) { hostSend(target, method, encoded(arguments)) }

// Log writes a line to the member's log, for finding faults.
func Log(line string) { hostLog(line) }

const (
	codeBytesMax   = 128
	detailBytesMax = 4 << 10
)

// bounded cuts a text off where the engine would refuse it.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most]
}

// encoded is JSON. What JSON cannot tell is a mistake in the type: a panic, not a refusal.
func encoded(value any) []byte {
	told, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if len(told) > math.MaxInt32 {
		panic("a result that is too long")
	}
	return told
}
