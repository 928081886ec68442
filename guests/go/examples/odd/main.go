// What types should not do, and what they may: for the tests.
package main

import (
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"time"

	"diwan/object"
)

// Odd is the object.
type Odd struct {
	Items  []int64
	Timers uint64
	kept   [][]byte
	told   chan int
}

// seen is state, too, though no field of the object: it is in the module's memory.
var seen = map[string]int{}

// WordArgs have one that is needed.
type WordArgs struct {
	Word string `json:"word"`
}

func (o *Odd) fail(object.None) (object.None, error) {
	o.Items = append(o.Items, 1)
	return object.None{}, errors.New("no such thing")
}

func (o *Odd) panics(object.None) (object.None, error) {
	o.Items = append(o.Items, 1)
	var none *Odd
	none.Timers++
	return object.None{}, nil
}

func (o *Odd) forever(object.None) (object.None, error) {
	for {
		o.Timers++
	}
}

func (o *Odd) deep(object.None) (int, error) {
	n, err := o.deep(object.None{})
	return n + 1, err
}

func (o *Odd) grow(object.None) (object.None, error) {
	for {
		o.kept = append(o.kept, make([]byte, 1<<20))
	}
}

func (o *Odd) large(object.None) (string, error) { return string(make([]byte, 2<<20)), nil }

func (o *Odd) sleep(object.None) (object.None, error) {
	time.Sleep(time.Second)
	return object.None{}, nil
}

func (o *Odd) wait(object.None) (int, error) { return <-o.told, nil }

func (o *Odd) exit(object.None) (object.None, error) {
	os.Exit(0)
	return object.None{}, nil
}

func (o *Odd) files(object.None) (string, error) {
	_, file := os.ReadFile("/etc/passwd")
	_, net := http.Get("http://127.0.0.1:1/")
	return fmt.Sprint(file != nil, " ", net != nil, " ", len(os.Environ()), " ", len(os.Args)), nil
}

func (o *Odd) side(object.None) (int, error) {
	sums := make(chan int)
	for n := range 10 {
		go func() { sums <- n }()
	}
	sum := 0
	for range 10 {
		sum += <-sums
	}
	return sum, nil
}

func (o *Odd) see(args WordArgs) (map[string]int, error) {
	seen[args.Word]++
	return seen, nil
}

func (o *Odd) chance(object.None) ([]any, error) {
	words := map[string]bool{"one": true, "two": true, "three": true, "four": true, "five": true}
	var order []string
	for word := range words {
		order = append(order, word)
	}
	bytes := make([]byte, 4)
	object.RandomBytes(bytes)
	object.Emit("rolled", map[string]int64{"at": object.NowMs()})
	object.SetTimer(7, time.Second)
	return []any{order, rand.Int63(), bytes, object.Position(), time.Now().UnixMilli(), fmt.Sprintf("%p", &order)}, nil
}

func (o *Odd) tell(object.None) (int, error) {
	object.Send("counter/all", "increment", map[string]int{"by": 2})
	object.Send("latch/done", "count_down", object.None{})
	return 1, nil
}

func (o *Odd) count(object.None) (int, error) {
	o.Items = append(o.Items, 1)
	return len(o.Items), nil
}

// Timer is told of timers.
func (o *Odd) Timer(id uint64) error {
	o.Timers += id
	return nil
}

func init() {
	object.Export("odd", func(object.None) (*Odd, error) { return &Odd{}, nil },
		object.Command("fail", (*Odd).fail), object.Command("panic", (*Odd).panics), object.Command("forever", (*Odd).forever),
		object.Command("deep", (*Odd).deep), object.Command("grow", (*Odd).grow), object.Command("large", (*Odd).large),
		object.Command("sleep", (*Odd).sleep), object.Command("wait", (*Odd).wait), object.Command("exit", (*Odd).exit),
		object.Command("files", (*Odd).files), object.Command("side", (*Odd).side), object.Command("see", (*Odd).see),
		object.Command("chance", (*Odd).chance), object.Command("tell", (*Odd).tell),
		object.Query("count", (*Odd).count))
}

func main() { object.Main() }
