package mutant_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

// shop has the files of a module. The module embeds one SQL statement and reads it in the same way
// as Hooklatch reads its statements.
var shop = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.26.0\n",
	"main.go": `package main

import (
	"fmt"

	"example.com/shop/internal/statement"
)

func total(price, count int) int {
	return price * count
}

func main() { fmt.Print(total(2, 3), " ", statement.Text()) }
`,
	"internal/statement/compile.go": `package statement

import (
	"embed"
	"io/fs"
)

//go:embed query
var queries embed.FS

type folder struct{ files fs.FS }

func (f folder) read(file string) ([]byte, error) {
	return fs.ReadFile(f.files, file)
}

func Text() string {
	text, err := folder{queries}.read("query/total.sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}
`,
	"internal/statement/query/total.sql": "SELECT price\nFROM orders\n",
}

const mistakes = `
mutant free
why  A customer pays nothing.
file main.go
-price * count
+price * count * free()
file main.go
-func main() {
+func free() int {
+	if {{planted}} {
+		return 0
+	}
+	return 1
+}
+
+func main() {
schedule a customer orders

mutant twice
why  A customer pays twice.
file main.go
-	return price * count
+	if {{planted}} {
+		count *= 2
+	}
+	return price * count
schedule a customer orders

mutant cheapest
why  Every order has the price of the cheapest.
file internal/statement/query/total.sql
-price
+min(price)
schedule a customer orders
`

// repository writes shop into a new directory, and returns the directory.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range shop {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func parse(t *testing.T, text string) []mutant.Mutant {
	t.Helper()
	all, err := mutant.Parse("list", text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// One build contains all mistakes, and each process has the selected one.
func TestAProcessChoosesItsMistake(t *testing.T) {
	t.Parallel()
	root, scratch := repository(t), t.TempDir()
	changed, err := mutant.Planted(root, parse(t, mistakes))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := mutant.WriteOverlay(root, scratch, changed)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(scratch, "shop")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{
		"":         "6 SELECT price\nFROM orders\n",
		"free":     "0 SELECT price\nFROM orders\n",
		"twice":    "12 SELECT price\nFROM orders\n",
		"cheapest": "6 SELECT min(price)\nFROM orders\n",
		"typo":     "there is no such mistake",
	} {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), mutant.Environment+"="+name)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (name == "typo") || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s", name, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "planted")); !os.IsNotExist(err) {
		t.Errorf("the package of the mistakes is in the repository: %v", err)
	}
}

// A build with a single mistake needs no selection: every process has the mistake.
func TestAloneAMistakeIsMade(t *testing.T) {
	t.Parallel()
	changed, err := parse(t, mistakes)[1].Mutated(repository(t))
	if err != nil || len(changed) != 1 || !strings.Contains(changed["main.go"], "if true {") {
		t.Errorf("%v, %v", changed, err)
	}
}

func TestMistakesThatCannotBePlantedAreRefused(t *testing.T) {
	t.Parallel()
	root := repository(t)
	for fault, want := range map[string]string{
		strings.Replace(mistakes, "{{planted}}", "false", 1):         "list:2: free: does not depend on {{planted}}",
		strings.Replace(mistakes, "-price\n", "-cost\n", 1):          "total.sql has the text 0 times instead of once",
		strings.Replace(mistakes, "+price * count", "+count", 1):     "list:19: twice: main.go has the text 0 times instead of once",
		mistakes + "file go.mod\n-shop\n+store\nschedule likewise\n": "list:29: cheapest: does not depend on {{planted}}",
	} {
		if _, err := mutant.Planted(root, parse(t, fault)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "internal/statement/compile.go"), []byte("package statement\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mutant.Planted(root, parse(t, mistakes)); err == nil || !strings.Contains(err.Error(), "compile.go has the text 0 times") {
		t.Errorf("statements are read elsewhere: %v", err)
	}
}
