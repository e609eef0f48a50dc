package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/hooklatch/hooklatch"

// checkout is the top directory of the repository.
const checkout = "../.."

// layer contains packages of the repository and the dependencies that they must not have. The keys
// of the maps are import paths, which include the packages below them. The values are the reasons.
type layer struct {
	packages string            // prefix of import paths
	must     map[string]string // no dependency, direct or indirect
	direct   map[string]string // no direct import
	exactly  map[string]string // no dependency on this package itself; packages below it are allowed
}

const oneWay = "imports point one way: cmd -> internal/program -> gateway, worker -> outbox -> schema"

// ofProgram is the import path prefix of the command's packages.
const ofProgram = module + "/internal/program"

const commitIsBlind = "commit handles only transactions: it must not know events, effects or their tables"

const planIsPure = "a plan is a pure function of event and routes: check and replay compute it without a worker or a database"

const sameWords = "the command and the console describe an event in the same words: the shared package must know neither"

// senders is the package with one file for each sender.
const senders = module + "/gateway/provider/internal/sender"

var layers = []layer{
	{packages: "schema", must: map[string]string{
		module + "/outbox":  oneWay,
		module + "/gateway": oneWay,
		module + "/worker":  oneWay,
		module + "/cmd":     oneWay,
		ofProgram:           oneWay,
	}},
	{packages: "outbox", must: map[string]string{
		module + "/gateway":            oneWay,
		module + "/worker":             oneWay,
		module + "/cmd":                oneWay,
		ofProgram:                      oneWay,
		module + "/schema/embedded":    "the ledger receives a database; it starts none",
		module + "/schema/pgtest":      "test helpers stay out of programs",
		"net/http":                     "the ledger stores events and effects; gateway and worker transport them",
		"github.com/labstack/echo":     "the ledger has no HTTP",
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; the program chooses the SDK",
		"database/sql":                 "a lost COMMIT response makes database/sql run a statement twice; pgx only",
	}},
	{packages: "outbox/commit", must: map[string]string{
		module + "/outbox/fleet":      commitIsBlind,
		module + "/outbox/inbox":      commitIsBlind,
		module + "/outbox/ledger":     commitIsBlind,
		module + "/outbox/identity":   commitIsBlind,
		module + "/internal/riverjob": commitIsBlind,
		module + "/schema":            commitIsBlind,
		"github.com/riverqueue/river": commitIsBlind,
	}, exactly: map[string]string{
		module + "/outbox": commitIsBlind,
	}},
	{packages: "outbox/ledger", exactly: map[string]string{
		module + "/outbox": "the ledger records effects; it does not know how events are accepted",
	}, must: map[string]string{
		module + "/outbox/fleet": "the ledger records effects; only the fleet knows which processes perform them",
		module + "/outbox/inbox": "the ledger records effects; only the inbox knows the contents of events",
	}},
	{packages: "outbox/inbox", exactly: map[string]string{
		module + "/outbox": "the inbox stores events; it does not know how they are accepted",
	}},
	{packages: "outbox/find", exactly: map[string]string{
		module + "/outbox": "find reads rows for operators; it does not know how events are accepted",
	}},
	{packages: "outbox/erasure", exactly: map[string]string{
		module + "/outbox": "an erasure removes stored data; it does not know how events are accepted",
	}},
	{packages: "outbox/export", exactly: map[string]string{
		module + "/outbox": "an export copies rows to files; it does not know how events are accepted",
	}, must: map[string]string{
		module + "/outbox/inbox": "an export copies rows; only the inbox knows the contents of events",
	}},
	{packages: "outbox/quarantine", exactly: map[string]string{
		module + "/outbox": "the quarantine stores refused deliveries; it does not know how events are accepted",
	}},
	{packages: "internal/repair", exactly: map[string]string{
		module + "/outbox": "repair is told how to find work without a job; it does not know how events are accepted",
	}},
	{packages: "outbox/retention", exactly: map[string]string{
		module + "/outbox": "retention deletes expired rows; it does not know how events are accepted",
	}},
	{packages: "outbox/fleet", exactly: map[string]string{
		module + "/outbox": "the fleet records destinations; it does not know how events are accepted",
	}},
	{packages: "gateway", must: map[string]string{
		module + "/worker":             "gateway and worker share only the outbox, so that each runs without the other",
		module + "/cmd":                oneWay,
		ofProgram:                      oneWay,
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; the program chooses the SDK",
	}},
	{packages: "gateway/provider/internal/proof", must: map[string]string{
		senders: "the engine knows no sender",
		module + "/gateway/provider/internal/graphapi":    "the engine knows no sender",
		module + "/gateway/provider/internal/plaidkeys":   "the engine knows no sender",
		module + "/gateway/provider/internal/twilioforms": "the engine knows no sender",
	}},
	{packages: "worker", must: map[string]string{
		module + "/gateway":            "gateway and worker share only the outbox, so that each runs without the other",
		module + "/cmd":                oneWay,
		ofProgram:                      oneWay,
		"github.com/labstack/echo":     "workers serve no HTTP",
		"go.opentelemetry.io/otel/sdk": "libraries use the OpenTelemetry API; the program chooses the SDK",
	}},
	{packages: "worker/route", direct: map[string]string{
		"github.com/riverqueue/river": planIsPure,
		"github.com/jackc/pgx":        planIsPure,
		"os":                          planIsPure,
	}},
	{packages: "cmd/hooklatch", must: map[string]string{
		module + "/cmd/hookstorm": "the program must not depend on the tool that tests it",
	}},
	{packages: "internal/program/console", must: map[string]string{
		module + "/internal/program/app":   "the console receives the data that it shows; the program chooses what else runs",
		module + "/internal/program/admin": "the console does not know the listener that serves it",
		module + "/gateway":                "the console shows stored data; it does not know how events are accepted",
	}},
	{packages: "internal/program/life", must: map[string]string{
		module + "/internal/program/app": sameWords,
		"github.com/spf13/cobra":         sameWords,
	}},
	{packages: "internal/program", must: map[string]string{
		module + "/cmd": oneWay,
	}},
	{packages: "cmd", must: map[string]string{
		"testing":                               "a binary that links testing has its flags and its init",
		"github.com/stretchr/testify":           "test helpers stay out of programs",
		module + "/schema/pgtest":               "test helpers stay out of programs",
		"github.com/riverqueue/river/rivertest": "test helpers stay out of programs",
	}},
}

// linked maps a layer and an import to the reason for an exception: a dependency that the layer
// needs imports this standard package. The rule is about the layer's own code.
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
				if !within(path, module+"/"+l.packages) || strings.HasSuffix(path, "/pgtest") || strings.HasSuffix(path, "/clitest") {
					continue
				}
				found++
				for forbidden, reason := range l.must {
					imports := p.Deps
					if _, exempt := linked[[2]string{l.packages, forbidden}]; exempt {
						imports = p.Imports
					}
					refuse(t, packages, path, imports, forbidden, reason)
				}
				for forbidden, reason := range l.direct {
					refuse(t, packages, path, p.Imports, forbidden, reason)
				}
				for forbidden, reason := range l.exactly {
					require.NotContains(t, p.Deps, forbidden, "%s: %s\n%s", path, reason, chain(packages, path, forbidden))
				}
			}
			require.NotZero(t, found, "no package below %s", l.packages)
		})
	}
}

// Callers get a provider from the catalog by name. The gateway accepts any provider, including
// providers declared elsewhere.
func TestOnlyTheCatalogNamesSenders(t *testing.T) {
	t.Parallel()
	const catalog = module + "/gateway/provider/catalog"
	packages := listPackages(t)
	require.Contains(t, packages[catalog].Imports, senders)
	for path, p := range packages {
		require.False(t, path != catalog && slices.Contains(p.Imports, senders), "%s imports %s: only the catalog names senders", path, senders)
	}
	for _, path := range []string{module + "/gateway", module + "/gateway/provider", senders} {
		require.False(t, slices.Contains(packages[path].Deps, catalog), "%s depends on %s: it must work with any provider", path, catalog)
	}
}

// The bugs that hookstorm plants are only in hookstorm's list. The program's code does not mention
// them.
func TestNothingKnowsOfPlantedBugs(t *testing.T) {
	t.Parallel()
	read := 0
	require.NoError(t, filepath.WalkDir(checkout, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if path != checkout && (err == nil || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir // another module
			}
			return nil
		case filepath.Ext(path) != ".sql" && (filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go")):
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(strings.ToLower(string(text)), "planted") {
			t.Errorf("%s mentions planted bugs", path)
		}
		read++
		return err
	}))
	require.Greater(t, read, 500, "files of the program")
}

// refuse fails the test if the list imports contains the forbidden package or a package below it.
// The list has the direct imports of the package at path, or all its dependencies.
func refuse(t *testing.T, packages map[string]goPackage, path string, imports []string, forbidden, reason string) {
	t.Helper()
	if i := slices.IndexFunc(imports, func(dep string) bool { return within(dep, forbidden) }); i >= 0 {
		require.Fail(t, "forbidden import", "%s depends on %s: %s\n%s", path, imports[i], reason, chain(packages, path, imports[i]))
	}
}

// parts are the outbox's packages. All other packages below outbox and internal, except
// internal/program, are leaves, which every layer may import.
var parts = []string{
	"internal/coverage", "internal/moves", "internal/repair", "internal/riverjob",
	"outbox", "outbox/commit", "outbox/erasure", "outbox/export", "outbox/find", "outbox/fleet", "outbox/inbox",
	"outbox/ledger", "outbox/measure", "outbox/quarantine", "outbox/retention", "outbox/runs",
}

// door contains the packages that users' programs may import: their exported API follows semantic
// versioning. All other packages are internal.
var door = []string{
	"gateway", "gateway/backfill", "gateway/provider", "gateway/provider/catalog",
	"outbox", "outbox/commit", "outbox/erasure", "outbox/export", "outbox/find", "outbox/fleet", "outbox/identity", "outbox/inbox",
	"outbox/ledger", "outbox/measure", "outbox/quarantine", "outbox/retention", "outbox/runs", "outbox/secret", "outbox/seen",
	"schema", "schema/embedded", "schema/pgtest",
	"worker", "worker/alarm", "worker/destination", "worker/hooktest", "worker/lane", "worker/route",
}

// ofCommand are modules and packages that only the command uses, with the packages that may import
// each.
var ofCommand = map[string][]string{
	"github.com/spf13/cobra":                 {ofProgram + "/cli", ofProgram + "/cli/clitest"},
	"github.com/modelcontextprotocol/go-sdk": {module + "/internal/program/mcp"},
	ofProgram + "/cli":                       {module + "/cmd/hooklatch", ofProgram + "/cli/clitest"},
}

// A program that imports our packages builds and downloads nothing that only the command needs.
func TestUsersInheritNoDependencyOfTheCommand(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	for of, importers := range ofCommand {
		for _, name := range door {
			refuse(t, packages, module+"/"+name, packages[module+"/"+name].Deps, of, "only the command needs it")
		}
		for path, p := range packages {
			if within(path, module) && !slices.Contains(importers, path) {
				refuse(t, packages, path, p.Imports, of, "only "+strings.Join(importers, ", ")+" imports it")
			}
		}
	}
}

func TestUsersImportWhatIsAtTheDoor(t *testing.T) {
	t.Parallel()
	var found []string
	for path, p := range listPackages(t) {
		name, ours := strings.CutPrefix(path, module+"/")
		tests := len(p.GoFiles) == 0 || within(name, "docs")
		if ours && !tests && p.Name != "main" && !strings.Contains("/"+name+"/", "/internal/") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	require.Equal(t, door, found)
}

func TestLeavesImportLeavesOnly(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	isLeaf := func(path string) bool {
		name, ours := strings.CutPrefix(path, module+"/")
		return ours && (within(name, "outbox") || within(name, "internal") && !within(name, "internal/program")) && !slices.Contains(parts, name)
	}
	leaves := 0
	for path, p := range packages {
		if !isLeaf(path) {
			continue
		}
		leaves++
		for _, dep := range p.Deps {
			require.True(t, !within(dep, module) || isLeaf(dep), "%s depends on %s: all layers import leaves, so that a leaf can import none of them\n%s",
				path, dep, chain(packages, path, dep))
		}
	}
	require.NotZero(t, leaves)
}

// goPackage is the part of the output of `go list -json` that the test needs.
type goPackage struct {
	ImportPath string
	Name       string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// listPackages returns the module's packages and all their dependencies, without tests.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	// The go command reuses a cached result unless a file that the test itself read has changed.
	// Files that go list reads do not count.
	require.NoError(t, filepath.WalkDir(checkout, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			_, err = os.Stat(path)
		}
		return err
	}))
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-e", "-json=ImportPath,Name,GoFiles,Imports,Deps", "./...")
	cmd.Dir = checkout
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

// within reports whether path is the root package or a package below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// chain returns an import chain from a package to a dependency, for the message.
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
