package backfill

import (
	"flag"
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) {
	// A check of a property makes many passes here. The command line is parsed later: it
	// may say more.
	_ = flag.Set("rapid.checks", "5")
	os.Exit(pgtest.Main(m))
}
