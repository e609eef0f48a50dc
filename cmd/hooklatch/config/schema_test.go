package config

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/size"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

//go:generate go test . -run ^TestSchemaIsCurrent$ -update

const (
	schemaPath = "../../../docs/config.schema.json"
	// reference is a pattern for values that the environment completes.
	reference = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`
)

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// TestSchemaIsCurrent compares the published JSON Schema with the structs. It
// tells how to write it anew.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(generateSchema(t), "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	if *update {
		require.NoError(t, os.WriteFile(schemaPath, text, 0o644))
		return
	}
	published, err := os.ReadFile(schemaPath)
	require.NoError(t, err)
	require.Equal(t, string(published), string(text), "docs/config.schema.json is out of date; run: go generate ./cmd/hooklatch/config")
}

// Every file the parser takes must be valid by the schema, or editors would
// mark it. README and examples are such files too.
func TestGoodFilesMatchTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for name, text := range goodTexts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(name, []byte(text), anyVariable)
			require.NoError(t, err)
			require.NoError(t, schema.Validate(asJSON(t, text)))
		})
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for name, text := range map[string]string{
		"unknown key":           "gatway: {}",
		"unknown key deep down": "destinations: {app: {http: {url: http://localhost, urll: x}}}",
		"unknown provider":      "sources: {a: {provider: strip, secrets: the-secret}}",
		"no provider":           "sources: {a: {secrets: the-secret}}",
		"wrong type":            "gateway: {max_in_flight: many}",
		"wrong size":            "gateway: {max_body: 1 megabyte}",
		"wrong duration":        "gateway: {accept_timeout: 2}",
		"wrong rate":            "destinations: {app: {http: {url: http://localhost}, rate: 5}}",
		"wrong policy":          "destinations: {app: {http: {url: http://localhost}, policy: once}}",
		"two kinds":             "destinations: {app: {http: {url: http://localhost}, smtp: {host: a, from: b}}}",
		"name of a source":      "sources: {Stripe: {provider: stripe, secrets: the-secret}}",
		"secret and its file":   "admin: {token: a, token_file: b}",
		"secret of nothing":     "sources: {a: {provider: stripe, secrets: [{not_after: 2026-12-01T00:00:00Z}]}}",
		"secret given twice":    "sources: {a: {provider: stripe, secrets: [{value: the-secret, file: b}]}}",
		"time without zone":     "sources: {a: {provider: stripe, secrets: [{value: the-secret, not_after: 2026-12-01}]}}",
		"unknown guard":         "sources: {a: {provider: stripe, secrets: [the-secret], replay_guard: deny}}",
		"no secret":             "sources: {a: {provider: stripe}}",
		"wrong days":            "retention: {dedup: 90 days}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, schema.Validate(asJSON(t, text)))
		})
	}
}

// anyVariable has a value that fits for every variable of the good files.
func anyVariable(name string) (string, bool) {
	fitting := map[string]string{
		"DATABASE_URL": "postgres://me@localhost:5432/app", "FORTY": "40", "HOST": "127.0.0.1", "PORT": "2525",
		"RATE": "5/m", "SECONDS": "3s", "SIZE": "4KiB", "YES": "true",
	}
	if value, ok := fitting[name]; ok {
		return value, true
	}
	if strings.HasSuffix(name, "_URL") {
		return "https://app.example.com", true
	}
	return "whsec_d2hhdGV2ZXIgaXQgaXMgYXMgbG9uZyBhcyBuZWVkZWQ=", true
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// goodTexts are the good files of testdata, the examples under docs, and the
// configurations in README and docs.
func goodTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"testdata/good.*.yaml", "../../../docs/examples/*/hooklatch.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path] = string(text)
		}
	}
	for _, pattern := range []string{"../../../*.md", "../../../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for i, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
				if strings.Contains(block[1], "sources:") && strings.Contains(block[1], "routes:") {
					texts[path+"#"+strconv.Itoa(i)] = block[1]
				}
			}
		}
	}
	return texts
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(schemaPath)
	require.NoError(t, err)
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("config.schema.json", document))
	schema, err := compiler.Compile("config.schema.json")
	require.NoError(t, err)
	return schema
}

// asJSON reads a configuration as an editor's YAML support would, but with
// references masked, so that they may stand unquoted inside braces.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(maskReferences(text)), &value))
	data, err := json.Marshal(value)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(unmask.Replace(string(data))))
	require.NoError(t, err)
	return document
}

func generateSchema(t *testing.T) object {
	t.Helper()
	g := &generator{docs: map[string]string{}, definitions: object{}}
	for _, dir := range []string{"gateway/provider", "worker", "worker/destination", "worker/route", "gateway"} {
		g.readComments(t, "../../../"+dir)
	}
	g.readComments(t, ".")
	root := g.structure(t, reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://github.com/hooklatch/hooklatch/raw/main/docs/config.schema.json"
	root["title"] = "Configuration of Hooklatch"
	root["description"] = "hooklatch.yaml. In every text, ${NAME} is an environment variable and $${ a literal ${."
	root["$defs"] = g.definitions
	for _, name := range []string{"sources", "destinations"} {
		root["properties"].(object)[name].(object)["propertyNames"] = object{"pattern": namePattern.String()}
	}
	return root
}

// generator makes the schema from the types of the structs, their comments,
// and refinements, which say what a Go type cannot.
type generator struct {
	docs        map[string]string // "Gateway.Listen" to its comment
	definitions object
}

// refinements are merged into the schema of a field.
var refinements = map[string]object{
	"Source.Provider":                  {"enum": catalog.Names()},
	"DestinationOptions.Policy":        {"enum": []string{string(ledger.AtLeastOnce), string(ledger.AtMostOnce)}},
	"EmailOptions.TLS":                 {"enum": []string{destination.TLSStartTLS, destination.TLSImplicit, destination.TLSNone}},
	"HTTPOptions.Method":               {"enum": destination.Methods()},
	"HTTPRequest.Method":               {"enum": destination.Methods()},
	"DestinationOptions.OnStoredError": {"enum": []string{string(worker.OnStoredErrorKeep), string(worker.OnStoredErrorNewKey)}},
	"Route.OnPark":                     {"enum": []string{string(ledger.OnParkBlock), string(ledger.OnParkSkip)}},
	"Refetch.Auth":                     {"enum": []string{route.RefetchAuthDestination}},
	"Forward.Headers":                  {"enum": []string{route.ForwardNoHeaders, route.ForwardOriginalHeaders}},
	"Route.Name":                       {"pattern": namePattern.String()},
	"Options.Tolerance":                {"pattern": `^(off|-?([0-9]+d)?([0-9.]+(ns|us|ms|s|m|h))*)$`},
	"Source.ReplayGuard":               {"enum": replayGuards},
	"Source.Dedup":                     {"enum": dedups},
}

// requirements are merged into the schema of a struct.
var requirements = map[string]object{
	"Source": {"required": []string{"provider"}, "anyOf": []object{
		{"required": []string{"secrets"}},
		{"required": []string{"secrets_file"}},
		{"properties": object{"provider": object{"enum": mayBeKeyless()}}},
	}},
	"Secret":       {"anyOf": []object{{"required": []string{"value"}}, {"required": []string{"file"}}}, "not": object{"required": []string{"value", "file"}}},
	"Destination":  {"oneOf": []object{{"required": []string{"http"}}, {"required": []string{"smtp"}}, {"required": []string{"sql"}}}},
	"HTTPOptions":  {"required": []string{"url"}},
	"EmailOptions": {"required": []string{"host", "from"}},
	"SQLOptions":   {"required": []string{"statements"}},
	"Refetch":      {"required": []string{"url"}},
	"Basic":        {"required": []string{"user"}},
	"Route":        {"required": []string{"name", "from", "to"}},
	"EmailMessage": {"required": []string{"recipient", "subject"}, "anyOf": []object{{"required": []string{"text"}}, {"required": []string{"html"}}}},
}

// mayBeKeyless are the providers of which a source may have no secret.
func mayBeKeyless() []string {
	names := []string{"jwt"} // with jwks_url or jwks_file
	for _, name := range catalog.Names() {
		if p, err := catalog.New(name, provider.Options{}); err == nil && p.Keyless {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (g *generator) structure(t *testing.T, typ reflect.Type) object {
	t.Helper()
	properties := object{}
	var exclusive []object
	fields := fieldsOf(typ)
	for _, f := range fields {
		key := f.Owner.Name() + "." + f.Go
		s := g.value(t, f.Type)
		if refinement, ok := refinements[key]; ok {
			s = orReference(merge(object{"type": "string"}, refinement))
		}
		if f.File != "" {
			s = object{"type": "string", "description": fileDoc(f)}
		} else if doc := g.docs[key]; doc != "" {
			s["description"] = doc
		} else {
			require.NotEqual(t, reflect.TypeFor[Config]().PkgPath(), f.Owner.PkgPath(), "%s has no comment; the schema shows it to users", key)
		}
		properties[f.Name] = s
		if f.File != "" && typ != keyType { // which wants exactly one
			exclusive = append(exclusive, object{"not": object{"required": []string{f.File, f.Name}}})
		}
	}
	s := object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
	if len(exclusive) > 0 {
		s["allOf"] = exclusive
	}
	return merge(s, requirements[typ.Name()])
}

func fileDoc(f field) string {
	if f.Type == secretType {
		return "A file that holds the secret, instead of " + f.File + "."
	}
	return "A file that holds the secrets, one in a line, instead of " + f.File + "."
}

// value is the schema of a type, by the rules of decoder.value.
func (g *generator) value(t *testing.T, typ reflect.Type) object {
	t.Helper()
	switch typ {
	case reflect.TypeFor[secret.Value](), reflect.TypeFor[ledger.Policy](), reflect.TypeFor[ledger.OnPark](), reflect.TypeFor[worker.OnStoredError]():
		return object{"type": "string"}
	case reflect.TypeFor[size.Bytes]():
		return object{"anyOf": []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]+ ?([kMG]B|[KMG]iB|B)?$|` + reference}}}
	case reflect.TypeFor[destination.Rate]():
		return object{"type": "string", "pattern": `^[1-9][0-9]*/[smh]$|` + reference}
	case reflect.TypeFor[time.Duration]():
		return object{"type": "string", "pattern": `^[0-9]+d$|^([0-9]+d)?([0-9.]+(ms|s|m|h))+$|` + reference}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$|` + reference}
	case reflect.TypeFor[netip.Prefix]():
		return object{"type": "string", "pattern": `^[0-9a-fA-F:.]+(/[0-9]+)?$|` + reference}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.value(t, typ.Elem())
	case reflect.Struct:
		if _, done := g.definitions[typ.Name()]; !done {
			g.definitions[typ.Name()] = object{} // holds the place
			g.definitions[typ.Name()] = g.structure(t, typ)
		}
		ref := object{"$ref": "#/$defs/" + typ.Name()}
		if typ == keyType {
			return object{"anyOf": []object{{"type": "string"}, ref}}
		}
		return ref
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": g.value(t, typ.Elem())}
	case reflect.Slice:
		element := g.value(t, typ.Elem())
		if takesScalar(reflect.New(typ.Elem()).Elem()) {
			alone := element
			if typ.Elem() == keyType {
				alone = object{"type": "string"}
			}
			return object{"anyOf": []object{alone, {"type": "array", "items": element}}}
		}
		return object{"type": []string{"array", "null"}, "items": element}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return orReference(object{"type": "boolean"})
	case reflect.Int, reflect.Int64:
		return orReference(object{"type": "integer"})
	default:
		require.Fail(t, "the file cannot have this type", "%s", typ)
		return nil
	}
}

func orReference(s object) object {
	return object{"anyOf": []object{s, {"type": "string", "pattern": reference}}}
}

func merge(s, more object) object {
	maps.Copy(s, more)
	return s
}

// readComments collects the comments of the fields of all structs in dir.
func (g *generator) readComments(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	files := token.NewFileSet()
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range structure.Fields.List {
				text := commentOf(field)
				for _, name := range field.Names {
					g.docs[spec.Name.Name+"."+name.Name] = text
				}
			}
			return true
		})
	}
}

func commentOf(field *ast.Field) string {
	for _, group := range []*ast.CommentGroup{field.Doc, field.Comment} {
		if group != nil {
			return strings.Join(strings.Fields(group.Text()), " ")
		}
	}
	return ""
}
