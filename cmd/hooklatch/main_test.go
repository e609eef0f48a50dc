package main_test

import (
	"flag"
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	os.Exit(clitest.Main(m))
}
