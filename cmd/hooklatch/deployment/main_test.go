// Package deployment tests how the program is built and deployed: the release, Compose, Kubernetes,
// and the database roles of the pages.
package deployment

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
