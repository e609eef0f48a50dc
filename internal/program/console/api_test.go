package console_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// document is the content of /api/openapi.json.
type document struct {
	Paths map[string]map[string]json.RawMessage

	operations map[string]operation
	schemas    *jsonschema.Compiler
}

type operation struct {
	Role       signin.Role `json:"x-role"` //nolint:tagliatelle // OpenAPI's name for extensions
	Parameters []reference
	Responses  map[string]reference
}

// reference is an object, or a reference to an object.
type reference struct {
	Ref     string `json:"$ref"`
	Name    string
	In      string
	Content map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		}
	}
}

func documented(t testing.TB, b *bundle) *document {
	t.Helper()
	text := b.page(t, "/api/openapi.json")
	d := &document{operations: map[string]operation{}, schemas: jsonschema.NewCompiler()}
	require.NoError(t, json.Unmarshal([]byte(text), d))
	var shared struct {
		Components struct {
			Parameters, Responses map[string]reference
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &shared))
	for path, methods := range d.Paths {
		var common []reference
		if of, some := methods["parameters"]; some {
			require.NoError(t, json.Unmarshal(of, &common))
			delete(methods, "parameters")
		}
		for method, text := range methods {
			var o operation
			require.NoError(t, json.Unmarshal(text, &o))
			o.Parameters = append(o.Parameters, common...)
			for i, p := range o.Parameters {
				if p.Ref != "" {
					o.Parameters[i] = shared.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
					require.NotEmpty(t, o.Parameters[i], p.Ref)
				}
			}
			for status, r := range o.Responses {
				if r.Ref != "" {
					o.Responses[status] = shared.Components.Responses[r.Ref[strings.LastIndexByte(r.Ref, '/')+1:]]
					require.NotEmpty(t, o.Responses[status], r.Ref)
				}
			}
			d.operations[strings.ToUpper(method)+" "+path] = o
		}
	}
	whole, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, d.schemas.AddResource("openapi.json", whole))
	d.schemas.AssertFormat()
	return d
}

// operationOf returns the operation for a request, or "" for a page without a counterpart in the
// API.
func (d *document) operationOf(method, path string) string {
	mux := http.NewServeMux()
	for _, pattern := range console.OnlyPages() {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /api"+path, http.NotFoundHandler())
	}
	described := map[string]string{}
	for name := range d.operations {
		pattern := name
		if strings.HasSuffix(name, "/") {
			pattern += "{$}"
		}
		mux.Handle(pattern, http.NotFoundHandler())
		described[pattern] = name
	}
	_, pattern := mux.Handler(httptest.NewRequest(method, path, http.NoBody))
	return described[pattern]
}

// holds requires that a response matches the document.
func (d *document) holds(t testing.TB, name string, got *httptest.ResponseRecorder) {
	t.Helper()
	said, is := d.operations[name].Responses[strconv.Itoa(got.Code)]
	require.True(t, is, "%s answers %d, which openapi.yaml does not say: %s", name, got.Code, got.Body)
	of, is := said.Content[got.Header().Get("Content-Type")]
	require.True(t, is, "%s answers %s", name, got.Header().Get("Content-Type"))
	if of.Schema.Ref == "" {
		return
	}
	schema, err := d.schemas.Compile("openapi.json" + of.Schema.Ref)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), "%s: %s", name, got.Body)
}

// The document and the API have the same paths, methods, roles, and list parameters.
func TestTheDocumentOfTheAPIIsOfWhatIsServed(t *testing.T) {
	t.Parallel()
	d := documented(t, setup(t))
	served := console.Operations()
	for name, role := range served {
		o, described := d.operations[name]
		require.True(t, described, "%s is served, and openapi.yaml does not describe it: describe it there, or add it to onlyPages in data.go", name)
		require.Equal(t, role, o.Role, "the x-role of %s", name)
		require.Contains(t, o.Responses, "403", name)
	}
	for name := range d.operations {
		require.Contains(t, served, name, "openapi.yaml describes an operation that is not served")
	}
	for name, want := range console.Parameters() {
		var said []string
		for _, p := range d.operations[name].Parameters {
			said = append(said, p.Name)
		}
		require.ElementsMatch(t, want, said, "the parameters of %s", name)
	}
	for name, o := range d.operations {
		for _, p := range o.Parameters {
			require.Equal(t, p.In == "path", strings.Contains(name, "{"+p.Name+"}") && p.In != "query", "%s of %s", p.Name, name)
			if p.In == "query" && console.Parameters()[name] == nil {
				require.Equal(t, "id", p.Name, "%s takes no query", name)
			}
		}
	}
}

// filledAPI returns a console with data of every kind.
func filledAPI(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	key := b.failed(t, "evt_1")
	b.doubted(t, "evt_2")
	b.accept(t, "evt_3", "customer.created", `{"a":[1,2,{"b":null}]}`)
	for _, id := range []string{hostile, "a/b", "..", "-", "line\nbreak", "ünïcödé"} {
		e := b.accept(t, id, hostile, `{"`+canary+`":"`+canary+`"}`)
		failed := b.dispatch(t, e, ledger.AtLeastOnce)
		b.attempt(t, failed, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400, ResponseExcerpt: hostile, Error: hostile})
		require.NoError(t, b.box.Ledger().Retry(t.Context(), failed, ledger.Operator{Who: hostile, Via: "cli", Reason: hostile}))
	}
	for n := range 60 {
		b.accept(t, "many_"+strconv.Itoa(n), "many", `{}`)
	}
	require.NoError(t, b.box.Ledger().Cancel(t.Context(), key, ledger.Operator{Who: "ada", Via: "cli"}))
	_, err := b.box.Inbox().Replay(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"}, ledger.Operator{Who: "ada", Via: "cli"}, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	require.NoError(t, b.box.Fleet().SetPaused(t.Context(), "app", true, ledger.Operator{Who: "ada", Via: "cli", Reason: "they move"}))
	begun(t, b, 2)
	b.refuse(t, "one", "two")
	b.seen(t, "accepted")
	b.seen(t, "secret:bbbb")
	return b
}

// Every response of the API matches the document. A download has the same bytes from the API as
// from the page.
func TestAnswersOfTheAPIAreAsDescribed(t *testing.T) {
	t.Parallel()
	b := filledAPI(t)
	d := documented(t, b)
	asked := map[string]bool{"GET /api/openapi.json": true}
	next := []string{
		"/events?when=" + url.QueryEscape(`body.a[2].b == null`), "/events?has=duplicates&type=" + url.QueryEscape(hostile), "/events?state=skipped&from=-1h&to=" + time.Now().AddDate(1, 0, 0).Format(time.DateOnly),
		"/effects?state=failed&event=stripe/evt_1", "/find?q=no+such+text", "/find?q=evt_1", "/quarantine?source=stripe&reason=wrong_signature",
	}
	for _, path := range append(next, crawl(t, b)...) {
		at, err := url.Parse(path)
		require.NoError(t, err)
		name := d.operationOf(http.MethodGet, "/api"+at.EscapedPath())
		if name == "" {
			continue // TestTheDocumentOfTheAPIIsOfWhatIsServed covers these
		}
		asked[name] = true
		got := b.get("/api" + path)
		require.Equal(t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
		d.holds(t, name, got)
		if strings.HasPrefix(got.Header().Get("Content-Type"), "application/octet-stream") {
			require.Equal(t, b.page(t, path), got.Body.String(), path)
		}
	}
	for name := range d.operations {
		if strings.HasPrefix(name, http.MethodGet) {
			require.True(t, asked[name], "no request of this test leads to %s", name)
		}
	}
}

// All pages of a list together contain each row once.
func TestAListOfTheAPIGoesOn(t *testing.T) {
	t.Parallel()
	b := filledAPI(t)
	var list struct {
		Rows []struct {
			ID string `json:"event_id"`
		}
		Next string
		More bool
	}
	all := map[string]bool{}
	for more, before := true, ""; more; more, before = list.More, list.Next {
		list.Rows, list.Next = nil, ""
		require.NoError(t, json.Unmarshal([]byte(b.page(t, "/api/events?type=many&before="+url.QueryEscape(before))), &list))
		for _, row := range list.Rows {
			require.False(t, all[row.ID])
			all[row.ID] = true
		}
	}
	require.Len(t, all, 60)
}

// A list has at most the requested number of rows, and continues after the last one.
func TestAListOfTheAPIHasAsManyRowsAsRequested(t *testing.T) {
	t.Parallel()
	b := filledAPI(t)
	begun(t, b, 5)
	type list struct {
		Rows []json.RawMessage
		Next string
		More bool
	}
	for _, path := range []string{"/api/events?type=many&", "/api/effects?", "/api/audit?", "/api/runs?"} {
		var first, second list
		require.NoError(t, json.Unmarshal([]byte(b.page(t, path+"limit=2")), &first), path)
		require.Len(t, first.Rows, 2, path)
		require.True(t, first.More, path)
		require.NoError(t, json.Unmarshal([]byte(b.page(t, path+"limit=1&before="+url.QueryEscape(first.Next))), &second), path)
		require.Len(t, second.Rows, 1, path)
		require.NotContains(t, first.Rows, second.Rows[0], path)
		for _, wrong := range []string{"0", "51", "-1", "1.5", "many", "9999999999999999999", "%00", strings.Repeat("9", 10_000)} {
			got := b.get(path + "limit=" + wrong)
			require.Equal(t, http.StatusBadRequest, got.Code, "%s %s", path, wrong)
			require.Contains(t, got.Body.String(), "it must be a number from 1 to 50", path)
			require.Less(t, got.Body.Len(), 500, path)
		}
	}
	require.Equal(t, http.StatusOK, b.get("/events?limit=many").Code, "a page ignores it, as every unknown parameter")
}
