// Package processes tests init, dev, and processes of the program that get signals.
package processes

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
