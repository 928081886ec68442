// The interop suite of two Go clients of Kafka: github.com/twmb/franz-go and github.com/IBM/sarama.
package main

import "os"

func main() {
	os.Exit(run([]group{deathTests, franzTests, franzGroupTests, franzAdminTests, saramaTests}, os.Args[1:]))
}
