package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/hooklatch/hooklatch"

// layer is a part of the repository and what it must not depend on, directly
// or through others: import path, those below it included, to the reason.
type layer struct {
	packages string // of the module, as a prefix
	must     map[string]string
}

const oneWay = "imports point one way: cmd -> gateway, worker -> outbox -> schema"

// senders is the package with one file for each sender.
const senders = module + "/gateway/provider/internal/sender"

var layers = []layer{
	{"schema", map[string]string{
		module + "/outbox":  oneWay,
		module + "/gateway": oneWay,
		module + "/worker":  oneWay,
		module + "/cmd":     oneWay,
	}},
	{"outbox", map[string]string{
		module + "/gateway":            oneWay,
		module + "/worker":             oneWay,
		module + "/cmd":                oneWay,
		module + "/schema/embedded":    "the ledger is given a database; it starts none",
		module + "/schema/pgtest":      "test helpers stay out of programs",
		"net/http":                     "the ledger knows events and effects; how they travel is the business of gateway and worker",
		"github.com/labstack/echo":     "the ledger has no HTTP",
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; which SDK runs is the program's choice",
		"database/sql":                 "a lost COMMIT answer makes database/sql run a statement twice; pgx only",
	}},
	{"gateway", map[string]string{
		module + "/worker":             "gateway and worker meet in the outbox only, so that each runs without the other",
		module + "/cmd":                oneWay,
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; which SDK runs is the program's choice",
	}},
	{"gateway/provider/internal/proof", map[string]string{
		senders: "the engine knows no sender",
		module + "/gateway/provider/internal/graphapi":    "the engine knows no sender",
		module + "/gateway/provider/internal/plaidkeys":   "the engine knows no sender",
		module + "/gateway/provider/internal/twilioforms": "the engine knows no sender",
	}},
	{"worker", map[string]string{
		module + "/gateway":            "gateway and worker meet in the outbox only, so that each runs without the other",
		module + "/cmd":                oneWay,
		"github.com/labstack/echo":     "workers serve no HTTP",
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; which SDK runs is the program's choice",
	}},
	{"cmd", map[string]string{
		"testing":                               "a binary that links testing has its flags and its init",
		"github.com/stretchr/testify":           "test helpers stay out of programs",
		module + "/schema/pgtest":               "test helpers stay out of programs",
		"github.com/riverqueue/river/rivertest": "test helpers stay out of programs",
	}},
}

// linked are standard packages that a dependency we cannot do without brings
// in, where the rule is about what our own code imports: by layer and import.
var linked = map[[2]string]string{
	{"outbox", "net/http"}:     "the propagation package of OpenTelemetry's API has an adapter for its headers",
	{"outbox", "database/sql"}: "pgx implements its Scanner and Valuer",
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	for _, l := range layers {
		t.Run(l.packages, func(t *testing.T) {
			t.Parallel()
			found := 0
			for path, p := range packages {
				if !within(path, module+"/"+l.packages) || strings.HasSuffix(path, "/pgtest") {
					continue
				}
				found++
				for forbidden, reason := range l.must {
					imports := p.Deps
					if _, exempt := linked[[2]string{l.packages, forbidden}]; exempt {
						imports = p.Imports
					}
					if i := slices.IndexFunc(imports, func(dep string) bool { return within(dep, forbidden) }); i >= 0 {
						require.Fail(t, "forbidden import", "%s depends on %s: %s\n%s", path, imports[i], reason, chain(packages, path, imports[i]))
					}
				}
			}
			require.NotZero(t, found, "no package below %s", l.packages)
		})
	}
}

// Whoever wants a provider asks the catalog for it by name, and the gateway takes
// any provider, also one that is declared elsewhere.
func TestOnlyTheCatalogNamesSenders(t *testing.T) {
	t.Parallel()
	const catalog = module + "/gateway/provider/catalog"
	packages := listPackages(t)
	require.Contains(t, packages[catalog].Imports, senders)
	for path, p := range packages {
		require.False(t, path != catalog && slices.Contains(p.Imports, senders), "%s imports %s: only the catalog names senders", path, senders)
	}
	for _, path := range []string{module + "/gateway", module + "/gateway/provider", senders} {
		require.False(t, slices.Contains(packages[path].Deps, catalog), "%s depends on %s: it must do with any provider", path, catalog)
	}
}

// goPackage is what the test needs of `go list -json`.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// listPackages are the packages of the module and all they depend on, without
// their tests.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-e", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = repository
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	packages := map[string]goPackage{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else {
			require.NoError(t, err)
		}
		packages[p.ImportPath] = p
	}
}

// within tells whether path is the package at root or one below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// chain is one way from a package to what it depends on, for the message.
func chain(packages map[string]goPackage, from, to string) string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			var path []string
			for at := to; at != ""; at = came[at] {
				path = append([]string{at}, path...)
			}
			return strings.Join(path, "\n  imports ")
		}
		for _, next := range packages[queue[0]].Imports {
			if _, seen := came[next]; !seen {
				came[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return ""
}
