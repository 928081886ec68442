package main

import (
	"fmt"
	"strconv"
	"time"

	"diwan/objects"
)

const calls = 200

// asked says how many requests each member has had.
func asked() (counts [3]int) {
	for place := range counts {
		counts[place] = must(strconv.Atoi(control("requests", strconv.Itoa(place+1))))
	}
	return counts
}

// strays calls it, and says who leads and whom the requests went to, if that is not the leader throughout.
func strays(t *T, counter *objects.Counter) string {
	leader, before := must(strconv.Atoi(control("leader"))), asked()
	for range calls {
		must(counter.Increment(t))
	}
	grown, others := asked(), 0
	for place := range grown {
		grown[place] -= before[place]
		if place != leader-1 {
			others += grown[place]
		}
	}
	if grown[leader-1] >= calls && others < calls/2 || must(strconv.Atoi(control("leader"))) != leader {
		return ""
	}
	return fmt.Sprintf("member %d leads: %v", leader, grown)
}

func init() {
	test("leader.requests_go_to_the_leader", func(t *T) {
		// A cluster object begins with a member that it draws.
		for range 5 {
			cluster := connect(5 * time.Second)
			counter := objects.NewCounter(cluster, fresh())
			for range 20 {
				must(counter.Increment(t))
			}
			// One that was elected a moment ago may not have served then: it is shunned for 5 seconds, and another may be elected meanwhile.
			end := time.Now().Add(20 * time.Second)
			for strayed := strays(t, counter); strayed != ""; strayed = strays(t, counter) {
				if time.Now().After(end) {
					panic(strayed)
				}
			}
			cluster.Close()
		}
	})
}
