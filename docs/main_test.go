// Package docs_test checks that the pages agree with the program: its packages, tables, files and
// tests.
package docs_test

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
