package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"diwan/objects"
)

// keys is where keys are, if the members speak TLS alone; without them there is nothing to do here.
var keys = os.Getenv("OBJECTS_KEYS")

func init() {
	if keys == "" {
		return
	}
	test("tls.authority_that_is_named_is_trusted", func(t *T) {
		for _, own := range []string{"", key("client.pem")} {
			config := must(objects.TLS(key("ca.pem"), own))
			cluster := must(objects.Connect(bare(), objects.Options{TLS: config}))
			same(must(objects.NewCounter(cluster, fresh()).Increment(t)), int64(1))
			cluster.Close()
		}
	})
	test("tls.other_side_that_is_not_trusted_is_refused_at_once", func(t *T) {
		for _, files := range [][2]string{{"foreign-ca.pem", ""}, {"ca.pem", "stranger.pem"}} {
			own := files[1]
			if own != "" {
				own = key(own)
			}
			config := must(objects.TLS(key(files[0]), own))
			unencrypted(t, "no-tls", objects.Options{TLS: config})
		}
		unencrypted(t, "tls-required", objects.Options{})
	})
}

func key(name string) string { return filepath.Join(keys, name) }

func bare() string { return strings.ReplaceAll(servers, "https://", "") }

func unencrypted(t *T, slug string, options objects.Options) {
	cluster := must(objects.Connect(bare(), options))
	defer cluster.Close()
	began := time.Now()
	_, err := objects.NewCounter(cluster, fresh()).Increment(t)
	same(refused(slug, err).Effect, "none")
	if time.Since(began) > 10*time.Second {
		panic("what cannot change was tried again and again")
	}
}
