package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"diwan/objects"
)

// whileClosed closes access meanwhile, and gives a principal with these rights: its name, and a file with its token.
func whileClosed(rights []string, work func(name, file string)) {
	name := fresh()
	file := filepath.Join(filepath.Dir(os.Getenv("OBJECTS_CONTROL")), name+".token")
	control("close")
	defer control("open")
	control(append([]string{"token", name, file}, rights...)...)
	work(name, file)
}

func tokenIn(file string) string { return strings.TrimSpace(string(must(os.ReadFile(file)))) }

func connectAs(options objects.Options) *objects.Cluster {
	return must(objects.Connect(servers, options))
}

func init() {
	test("tokens.token_says_who_asks_while_leaders_die", func(t *T) {
		whileClosed([]string{"counter/*:*"}, func(_, file string) {
			var stop atomic.Bool
			var counting sync.WaitGroup
			counted, wrong := make([]int64, 2), make(chan any, 2)
			for place, options := range []objects.Options{{Token: tokenIn(file)}, {TokenFile: file}} {
				counting.Add(1)
				go func() {
					defer counting.Done()
					defer func() {
						if failure := recover(); failure != nil {
							wrong <- failure
						}
					}()
					cluster := connectAs(options)
					defer cluster.Close()
					counter := objects.NewCounter(cluster, fresh())
					for !stop.Load() {
						counted[place]++
						same(must(counter.Increment(t)), counted[place])
						same(must(counter.Get(t)), counted[place])
					}
				}()
			}
			for range 2 {
				time.Sleep(500 * time.Millisecond)
				control("kill", "leader")
				control("start")
			}
			stop.Store(true)
			counting.Wait()
			select {
			case failure := <-wrong:
				panic(failure)
			default:
			}
			if min(counted[0], counted[1]) <= 2 {
				panic(counted)
			}
			cluster := connectAs(objects.Options{Token: tokenIn(file)})
			defer cluster.Close()
			_, err := objects.NewLock(cluster, fresh()).Hold(t, objects.Try)
			problem := refused("forbidden", err)
			same([]string{problem.Effect, problem.Retry}, []string{"none", "no"})
			nobody := connectAs(objects.Options{})
			defer nobody.Close()
			_, err = objects.NewCounter(nobody, fresh()).Increment(t)
			if problem = refused("unauthenticated", err); !strings.Contains(problem.Detail, "Authorization") {
				panic(problem)
			}
		})
	})
	test("tokens.environment_says_who_asks", func(t *T) {
		whileClosed([]string{"counter/*:*"}, func(_, file string) {
			for name, value := range map[string]string{"DIWAN_TOKEN": tokenIn(file), "DIWAN_TOKEN_FILE": file} {
				no(os.Setenv(name, value))
				cluster := connectAs(objects.Options{})
				no(os.Unsetenv(name))
				same(must(objects.NewCounter(cluster, fresh()).Increment(t)), int64(1))
				cluster.Close()
			}
			both := objects.Options{Token: tokenIn(file), TokenFile: file}
			for _, wrong := range []objects.Options{{Token: "diwan_1"}, both, {TokenFile: "/nowhere"}} {
				if _, err := objects.Connect(servers, wrong); err == nil {
					panic("it was taken")
				}
			}
		})
	})
	test("tokens.wrong_and_revoked_tokens_are_refused_at_once", func(t *T) {
		began := time.Now()
		cluster := connectAs(objects.Options{Token: "diwan_" + strings.Repeat("1", 64)})
		defer cluster.Close()
		_, err := objects.NewCounter(cluster, "c").Increment(t)
		problem := refused("unauthenticated", err)
		same([]any{problem.Status, problem.Effect, problem.Retry}, []any{401, "none", "no"})
		_, err = objects.NewCounter(cluster, "c").Get(t)
		same(refused("unauthenticated", err).Effect, "none")
		if time.Since(began) > 10*time.Second {
			panic("what cannot change was tried again and again")
		}
		whileClosed([]string{"counter/*:*", "lock/*:*"}, func(name, file string) {
			cluster := connectAs(objects.Options{Token: tokenIn(file), TTL: 2 * time.Second})
			defer cluster.Close()
			held := must(objects.NewLock(cluster, fresh()).Hold(t, objects.Forever))
			control("revoke", name)
			_, err := objects.NewCounter(cluster, fresh()).Increment(t)
			same(refused("unauthenticated", err).Effect, "none")
			select {
			case <-held.Context().Done():
			case <-time.After(10 * time.Second):
				panic("the lock is not lost")
			}
		})
	})
	test("tokens.file_is_read_again_when_its_token_was_replaced", func(t *T) {
		whileClosed([]string{"counter/*:*", "lock/*:*"}, func(name, file string) {
			cluster := connectAs(objects.Options{TokenFile: file, TTL: 4 * time.Second})
			defer cluster.Close()
			held := must(objects.NewLock(cluster, fresh()).Hold(t, objects.Forever))
			counter, n := objects.NewCounter(cluster, fresh()), int64(0)
			for range 3 {
				first := tokenIn(file)
				control("token", name, file)
				if tokenIn(file) == first {
					panic("it is the same token")
				}
				for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					n++
					same(must(counter.Increment(t)), n)
				}
			}
			// Its heartbeats came by the new ones.
			no(held.Context().Err())
			no(held.Release())
		})
	})
}
