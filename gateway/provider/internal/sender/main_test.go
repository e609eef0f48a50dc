package sender

import (
	"os"
	"testing"

	"github.com/hooklatch/hooklatch/internal/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }
