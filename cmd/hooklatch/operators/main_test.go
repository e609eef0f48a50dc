// Package operators tests the commands with which operators find, retry, replay and erase what is stored.
package operators

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
