package backfill

import (
	"flag"
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) {
	// One check of a property runs many passes, so few checks run by default. The command line
	// is parsed later and may set more.
	_ = flag.Set("rapid.checks", "5")
	os.Exit(pgtest.Main(m))
}
