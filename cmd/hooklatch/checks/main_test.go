// Package checks tests check, repair, retention and alerts, with the advice that they print.
package checks

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
