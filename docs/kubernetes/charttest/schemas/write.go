// Command schemas writes JSON Schemas of the kinds that the chart uses, from the OpenAPI file in
// the module k8s.io/kubernetes: go run ./schemas
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// versions contains one release of each minor version of Kubernetes that the tests use. The
// variable minors of the tests must contain the same versions.
var versions = []string{"v1.35.3", "v1.36.3"}

// kinds lists the kinds that the chart uses, by the last part of the definition's name.
var kinds = []string{
	"core.v1.ConfigMap", "core.v1.Service", "core.v1.ServiceAccount", "apps.v1.Deployment", "batch.v1.Job",
	"networking.v1.Ingress", "networking.v1.NetworkPolicy", "policy.v1.PodDisruptionBudget",
}

type definitions map[string]map[string]any

func main() {
	for _, version := range versions {
		if err := write(version); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(version string) error {
	out, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
	if err != nil {
		return fmt.Errorf("download k8s.io/kubernetes@%s: %w", version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return err
	}
	var api struct{ Definitions definitions }
	if err := json.Unmarshal(text, &api); err != nil {
		return err
	}
	dir := filepath.Join("schemas", version)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	used := definitions{}
	for _, kind := range kinds {
		name := "io.k8s.api." + kind
		api.Definitions.follow(name, used)
		file := strings.ToLower(kind[strings.LastIndexByte(kind, '.')+1:]) + ".json"
		if err := writeJSON(filepath.Join(dir, file), map[string]string{"$ref": "definitions.json#/definitions/" + name}); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, "definitions.json"), map[string]any{"definitions": used})
}

// follow adds a definition and all definitions that it refers to.
func (d definitions) follow(name string, used definitions) {
	if used[name] != nil {
		return
	}
	used[name] = d[name]
	if strings.HasSuffix(name, ".Quantity") {
		used[name]["type"] = []string{"string", "number"}
	}
	d.tighten(used[name], used)
}

// tighten removes the parts that validate nothing, and refuses unknown fields.
func (d definitions) tighten(schema map[string]any, used definitions) {
	for key, value := range schema {
		_, text := value.(string)
		if key == "description" && text || strings.HasPrefix(key, "x-") || key == "default" {
			delete(schema, key)
		}
	}
	if schema["format"] == "int-or-string" {
		schema["type"] = []string{"string", "integer"}
	}
	delete(schema, "format")
	if ref, ok := schema["$ref"].(string); ok {
		d.follow(ref[strings.LastIndexByte(ref, '/')+1:], used)
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		schema["additionalProperties"] = false
		for _, property := range properties {
			d.tighten(property.(map[string]any), used)
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[inner].(map[string]any); ok {
			d.tighten(inner, used)
		}
	}
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, slices.Concat(text, []byte("\n")), 0o600)
}
