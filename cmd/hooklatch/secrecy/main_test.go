// Package secrecy searches everything that the program prints, serves and logs for planted secrets
// and payloads.
package secrecy

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
