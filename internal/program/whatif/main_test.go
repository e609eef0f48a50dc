package whatif_test

import (
	"flag"
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) {
	// One check of the property starts two programs, so few checks run by default. The command line
	// is parsed later and may set more.
	_ = flag.Set("rapid.checks", "10")
	os.Exit(pgtest.Main(m))
}
