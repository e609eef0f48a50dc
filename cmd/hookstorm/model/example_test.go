package model_test

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/model"
)

func ExampleExplore() {
	result, err := model.Explore(context.Background(), model.Options{Bug: bugs.AckBeforeCommit})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Violation)
	// Output:
	// I1: every delivery answered 2xx has its event stored, together with the job that will process it
	// In the world "calls, at_least_once" it is broken by 2 steps:
	//    1  gateway 1  reads the delivery and finds its signature valid   [gateway.body_read, gateway.verified]
	//    2  gateway 1  answers 2xx   [gateway.half_answer]
}
