package main

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/rate"
	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// reference is the pattern of values that contain references to the environment.
const reference = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

var keyType = reflect.TypeFor[config.Secret]()

// schemaOf returns the JSON Schema of the file.
func schemaOf(docs comments) object {
	g := &generator{docs: docs, definitions: object{}}
	root := g.structure(reflect.TypeFor[config.Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://github.com/hooklatch/hooklatch/raw/main/docs/config.schema.json"
	root["title"] = "Configuration of Hooklatch"
	root["description"] = "hooklatch.yaml. In every text, ${NAME} is an environment variable and $${ a literal ${."
	root["$defs"] = g.definitions
	for _, name := range []string{"sources", "destinations"} {
		root["properties"].(object)[name].(object)["propertyNames"] = object{"pattern": option.NamePattern}
	}
	return root
}

// generator creates the schema from the struct types, their comments, and refinements that Go types
// cannot express.
type generator struct {
	docs        comments
	definitions object
}

// refinements restrict the text of a field. Each key names the field's struct and the field.
var refinements = map[string]object{
	"Source.Provider":                  {"enum": catalog.Names()},
	"DestinationOptions.Policy":        {"enum": []string{string(ledger.AtLeastOnce), string(ledger.AtMostOnce)}},
	"EmailOptions.TLS":                 {"enum": []string{destination.TLSStartTLS, destination.TLSImplicit, destination.TLSNone}},
	"HTTPOptions.Preset":               {"enum": destination.Presets()},
	"HTTPOptions.Method":               {"enum": destination.Methods()},
	"HTTPRequest.Method":               {"enum": destination.Methods()},
	"DestinationOptions.OnStoredError": {"enum": []string{string(worker.OnStoredErrorKeep), string(worker.OnStoredErrorNewKey)}},
	"Settings.Mode":                    {"enum": []string{backfill.ModeAuto, backfill.ModeReport}},
	"Settings.Via":                     {"enum": []backfill.Via{backfill.ViaAuto, backfill.ViaPull, backfill.ViaRedeliver}},
	"OwnList.Order":                    {"enum": backfill.Orders()},
	"Route.Backfill":                   {"enum": []string{route.BackfillRun, route.BackfillSkip, route.BackfillPark}},
	"Route.OnPark":                     {"enum": []string{string(ledger.OnParkBlock), string(ledger.OnParkSkip)}},
	"Refetch.Auth":                     {"enum": []string{route.RefetchAuthDestination}},
	"Forward.Headers":                  {"enum": []string{route.ForwardNoHeaders, route.ForwardOriginalHeaders}},
	"Route.Name":                       {"pattern": option.NamePattern},
	"Check.Name":                       {"pattern": option.NamePattern},
	"Options.Tolerance":                {"pattern": `^(off|-?([0-9]+d)?([0-9.]+(ns|us|ms|s|m|h))*)$`},
	"Source.ReplayGuard":               {"enum": []string{config.ReplayOff, config.ReplayFlag, config.ReplayHold, config.ReplayRefuse}},
	"Database.Migrate":                 {"enum": []string{config.MigrateOnStart}},
	"Dedup.Rule":                       {"enum": []string{config.DedupID, config.DedupContent}},
	"Source.Gzip":                      {"enum": []string{config.GzipUnpacked, config.GzipSent}},
}

// requirements are merged into the schemas of structs. Each key names a struct.
var requirements = map[string]object{
	"Source": {"required": []string{"provider"}, "anyOf": []object{
		{"required": []string{"secrets"}},
		{"required": []string{"secrets_file"}},
		{"properties": object{"provider": object{"enum": mayBeKeyless()}}},
	}},
	"Settings":        {"required": []string{"token"}},
	"OwnList":         {"required": []string{"url", "time"}},
	"Secret":          {"anyOf": []object{{"required": []string{"value"}}, {"required": []string{"file"}}}, "not": object{"required": []string{"value", "file"}}},
	"Destination":     {"oneOf": []object{{"required": []string{"http"}}, {"required": []string{"smtp"}}, {"required": []string{"sql"}}, {"required": []string{"nats"}}, {"required": []string{"rabbitmq"}}}},
	"HTTPOptions":     {"oneOf": []object{{"required": []string{"url"}}, {"required": []string{"secret_url"}}, {"required": []string{"url_file"}}}},
	"EmailOptions":    {"required": []string{"host", "from"}},
	"SQLOptions":      {"required": []string{"statements"}},
	"NATSOptions":     {"required": []string{"servers", "subject"}},
	"RabbitMQOptions": {"required": []string{"servers", "username"}, "anyOf": []object{{"required": []string{"exchange"}}, {"required": []string{"routing_key"}}}},
	"Refetch":         {"required": []string{"url"}},
	"Check":           {"required": []string{"name", "sql"}},
	"Basic":           {"required": []string{"user"}},
	"Route":           {"required": []string{"name", "from", "to"}},
	"EmailMessage":    {"required": []string{"recipient", "subject"}, "anyOf": []object{{"required": []string{"text"}}, {"required": []string{"html"}}}},
}

// mayBeKeyless returns the providers that allow a source without a secret.
func mayBeKeyless() []string {
	names := []string{"jwt"} // needs no secret with jwks_url or jwks_file
	for _, name := range catalog.Names() {
		if p, err := catalog.New(name, provider.Options{}); err == nil && p.Keyless {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (g *generator) structure(typ reflect.Type) object {
	properties := object{}
	var exclusive []object
	for _, f := range config.Fields(typ) {
		key := f.Owner.Name() + "." + f.Go
		s := g.value(f.Type)
		if refinement, ok := refinements[key]; ok {
			s = orReference(merge(object{"type": "string"}, refinement))
		}
		if doc := g.docs.field(f); doc != "" {
			s["description"] = doc
		}
		if f.File != "" {
			s = object{"type": "string", "description": g.docs.field(f)}
		}
		properties[f.Name] = s
		if f.File != "" && typ != keyType { // a Secret has this rule in requirements
			exclusive = append(exclusive, object{"not": object{"required": []string{f.File, f.Name}}})
		}
	}
	s := object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
	if len(exclusive) > 0 {
		s["allOf"] = exclusive
	}
	return merge(s, requirements[typ.Name()])
}

// value returns the schema of a type, according to the rules of decoder.value.
func (g *generator) value(typ reflect.Type) object {
	switch typ {
	case reflect.TypeFor[secret.Value](), reflect.TypeFor[ledger.Policy](), reflect.TypeFor[ledger.OnPark](), reflect.TypeFor[worker.OnStoredError]():
		return object{"type": "string"}
	case reflect.TypeFor[size.Bytes]():
		return object{"anyOf": []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]+ ?([kMG]B|[KMG]iB|B)?$|` + reference}}}
	case reflect.TypeFor[rate.PerSecond]():
		return object{"type": "string", "pattern": `^[1-9][0-9]*/[smh]$|` + reference}
	case reflect.TypeFor[time.Duration]():
		return object{"type": "string", "pattern": `^[0-9]+d$|^([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))+$|` + reference}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$|` + reference}
	case reflect.TypeFor[netip.Prefix]():
		return object{"type": "string", "pattern": `^[0-9a-fA-F:.]+(/[0-9]+)?$|` + reference}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.value(typ.Elem())
	case reflect.Struct:
		if _, done := g.definitions[typ.Name()]; !done {
			g.definitions[typ.Name()] = object{} // reserves the name
			g.definitions[typ.Name()] = g.structure(typ)
		}
		ref := object{"$ref": "#/$defs/" + typ.Name()}
		switch typ {
		case keyType:
			return object{"anyOf": []object{{"type": "string"}, ref}}
		case reflect.TypeFor[config.Dedup]():
			return object{"anyOf": []object{orReference(merge(object{"type": "string"}, refinements["Dedup.Rule"])), ref}}
		}
		return ref
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": g.value(typ.Elem())}
	case reflect.Slice:
		element := g.value(typ.Elem())
		if config.TakesScalar(typ.Elem()) {
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
		panic(fmt.Sprintf("the file cannot have a value of type %s", typ))
	}
}

func orReference(s object) object {
	return object{"anyOf": []object{s, {"type": "string", "pattern": reference}}}
}

func merge(s, more object) object {
	maps.Copy(s, more)
	return s
}
