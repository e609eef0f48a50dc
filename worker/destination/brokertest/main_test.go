// Package brokertest tests the destinations on message brokers against real brokers. It is a
// separate module, so that no program that uses Hooklatch depends on a broker's server.
package brokertest

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
