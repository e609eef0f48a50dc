package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// checkHeaders reports headers that no request may set, duplicates, and headers without an
// expression.
func checkHeaders(c *option.Check, headers map[string]string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		field, canonical := "headers."+name, http.CanonicalHeaderKey(name)
		if err := destination.CheckHeaderName(name); err != nil {
			c.Failf(field, nil, "%s", err)
		} else if seen[canonical] {
			c.Failf(field, nil, "is given twice")
		} else if headers[name] == "" {
			c.Failf(field, nil, "needs an expression")
		}
		seen[canonical] = true
	}
}

// compileField compiles an expression, or returns nil for an empty text.
func compileField(env *cel.Env, field, text string, want wanted, fail failFunc) *expression {
	if text == "" {
		return nil
	}
	e, err := compileExpression(env, text, want)
	if err != nil {
		fail(field, text, err)
	}
	return e
}

// compileHeaders compiles the headers of a section of a route, by canonical name.
func compileHeaders(env *cel.Env, section string, headers map[string]string, to destination.Sender, fail failFunc) map[string]*expression {
	compiled := map[string]*expression{}
	checker, checks := to.(destination.HeaderChecker)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		field, text := section+".headers."+name, headers[name]
		if destination.CheckHeaderName(name) != nil {
			continue // already reported as a fault
		}
		if checks {
			if err := checker.CheckHeader(name, ""); err != nil {
				fail(field, text, err)
				continue
			}
		}
		compiled[http.CanonicalHeaderKey(name)] = compileField(env, field, text, wantText, fail)
	}
	return compiled
}

// buildHeaders evaluates the headers of a section of a route.
func buildHeaders(section string, headers map[string]*expression, scope *eventScope) (map[string][]string, error) {
	built := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, err := headers[name].evalText(scope)
		if err == nil && !isHeaderValue(value) {
			err = errors.New("yields a text with control characters")
		}
		if err != nil {
			return nil, fmt.Errorf("%s.headers.%s: %w", section, name, err)
		}
		built[name] = []string{value}
	}
	return built, nil
}

// takeContentType moves a Content-Type header that the route sets to request.ContentType.
func takeContentType(request *ledger.Request) {
	if contentType := request.Headers["Content-Type"]; len(contentType) > 0 {
		request.ContentType = contentType[0]
		delete(request.Headers, "Content-Type")
	}
}

func isHeaderValue(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}
