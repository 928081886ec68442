// The interop suite of github.com/go-zookeeper/zk: every call of the client, and the recipes that
// people build from them.
package main

import "os"

func main() {
	if len(os.Args) > 2 && os.Args[1] == "held" {
		held(os.Args[2])
		return
	}
	groups := []group{nodeTests, transactionTests, aclTests, watchTests, recipeTests, sessionTests, outageTests}
	if toll != "" {
		groups = append(groups, deathTests)
	}
	os.Exit(run(groups, os.Args[1:]))
}
