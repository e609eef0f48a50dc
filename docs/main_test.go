// Package docs_test checks the pages against the program: its packages, its tables, its files and
// its tests.
package docs_test

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
