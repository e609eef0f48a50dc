package firstrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// ErrByHand is returned for a file into which Add cannot insert a source. Add needs one YAML
// document whose `sources`, if present, are a block mapping with at least one source.
var ErrByHand = errors.New("`sources` is not a mapping with one source on each line")

// Addition is a source to add to an existing configuration.
type Addition struct {
	Provider string
	Given    secret.Value // if empty, Add generates a secret if possible
}

// Add returns two texts: the configuration with an added source that has the provider's name, and
// .env with the variable of the source's secret. All other lines and comments stay as they are.
func (a Addition) Add(text, dotenv string) (newText, newDotenv string, err error) {
	if err := checkProvider(a.Provider); err != nil {
		return "", "", err
	}
	d, err := catalog.Describe(a.Provider)
	if err != nil {
		return "", "", err
	}
	target := TargetOf(text)
	v, hasSecret, err := secretOf(d, a.Given)
	if err != nil {
		return "", "", err
	}
	if hasSecret {
		if err := checkDotenv(v.name, v.value); err != nil {
			return "", "", err
		}
		dotenv = mergeDotenv(dotenv, []variable{v}, target != Kubernetes)
	}
	reference := Reference(v.name)
	if target == Systemd {
		reference = credential(v.name)
	}
	snippet := func(indent string) string { return Source(d, indent, reference) }
	file, problems := config.ParseTree("the configuration", text)
	if problems != nil {
		return "", "", problems
	}
	if len(file.Docs) != 1 {
		return "", "", ErrByHand
	}
	root, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return "", "", ErrByHand
	}
	at := slices.IndexFunc(root.Values, func(value *ast.MappingValueNode) bool { return value.Key.String() == "sources" })
	if at < 0 {
		return strings.TrimRight(text, "\n") + "\n\nsources:\n" + snippet("  "), dotenv, nil
	}
	sources, ok := root.Values[at].Value.(*ast.MappingNode)
	if !ok || sources.IsFlowStyle || len(sources.Values) == 0 {
		return "", "", fmt.Errorf("%w: add these lines to it:\n%s", ErrByHand, snippet("  "))
	}
	first := sources.Values[0].Key.GetToken().Position
	for _, one := range sources.Values {
		if one.Key.GetToken().Value == a.Provider {
			return "", "", fmt.Errorf("the configuration has a source %q: add the new source to the file yourself, under another name", a.Provider)
		}
	}
	lines := slices.Collect(strings.Lines(text))
	indent := strings.Repeat(" ", first.Column-1)
	// The source is inserted after the line of the key, so that comments above the first source
	// stay with that source.
	key := root.Values[at].Key.GetToken().Position.Line
	return strings.Join(slices.Concat(lines[:key], []string{snippet(indent)}, lines[key:]), ""), dotenv, nil
}
