package objects

import (
	"fmt"
	"strings"
)

// acknowledged is which requests of a session have been answered: all up to a floor, and ranges above it, as the server is told
// of them.
type acknowledged struct {
	floor int64
	// First and last number of each, in order and apart. There are no more of them than requests without an answer.
	above [][2]int64
}

// add says that a request is answered.
func (a *acknowledged) add(number int64) {
	at := len(a.above)
	for at > 0 && a.above[at-1][0] > number {
		at--
	}
	if number <= a.floor || (at > 0 && a.above[at-1][1] >= number) {
		return
	}
	first, last, from, to := number, number, at, at
	if to < len(a.above) && a.above[to][0] == number+1 {
		last = a.above[to][1]
		to++
	}
	if from > 0 && a.above[from-1][1] == number-1 {
		from--
		first = a.above[from][0]
	}
	behind := append([][2]int64{{first, last}}, a.above[to:]...)
	a.above = append(a.above[:from], behind...)
	if a.above[0][0] == a.floor+1 {
		a.floor = a.above[0][1]
		a.above = a.above[1:]
	}
}

// unanswered is how many of the requests up to that one are not answered.
func (a *acknowledged) unanswered(last int64) int64 {
	left := last - a.floor
	for _, numbers := range a.above {
		left -= numbers[1] - numbers[0] + 1
	}
	return left
}

func (a *acknowledged) String() string {
	var text strings.Builder
	fmt.Fprint(&text, a.floor)
	for _, numbers := range a.above {
		if numbers[0] == numbers[1] {
			fmt.Fprintf(&text, ", %d", numbers[0])
		} else {
			fmt.Fprintf(&text, ", %d-%d", numbers[0], numbers[1])
		}
	}
	return text.String()
}
