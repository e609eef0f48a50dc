package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Names of arguments with a special meaning.
const (
	limitName = "limit"
	// fromName is an argument of the tools, but not of the API: the first byte of the result to
	// return.
	fromName = "result_from"
	// ownPrefix precedes the name of a body field that has the same name as a query parameter.
	ownPrefix = "operator_"
)

// rowsWithoutLimit is the number of rows of a list if the caller does not ask for another number. A
// page of the console has more rows, but fewer rows are quicker to read and usually fit into a
// result.
const rowsWithoutLimit = 20

// place is the part of a request that an argument belongs to.
type place string

const (
	inPath   place = "path"
	inQuery  place = "query"
	inBody   place = "body"
	inResult place = "result" // not sent to the console
)

// argument is one argument of a tool.
type argument struct {
	name     string
	in       place
	sent     string // name in the request
	kind     string // JSON type
	required bool
	schema   schema
}

// argumentsOf returns the tool's arguments: the parameters, the fields of the body and, for a read
// without the parameter limit, fromName. It omits the path parameter that names the verb, and a
// path parameter that can be sent in the query instead.
func (t tool) argumentsOf() ([]argument, error) {
	var list []argument
	for _, p := range t.Parameters {
		if p.In == string(inPath) && (p.Name == actionName && t.action != "" || t.inQueryToo(p.Name)) {
			continue
		}
		a := argument{name: p.Name, in: place(p.In), sent: p.Name, required: p.Required, schema: described(p.Schema, p.Description, p.Example)}
		switch {
		case a.in != inPath && a.in != inQuery:
			return nil, fmt.Errorf("parameter %s is in %q, not in the path or the query", p.Name, p.In)
		case a.in == inQuery && strings.Contains(t.path, "{"+p.Name+"}"):
			a.required, a.schema = true, described(p.Schema, "", p.Example)
		case a.in == inQuery && a.name == limitName:
			a.schema["default"] = rowsWithoutLimit
		}
		list = append(list, a)
	}
	body := t.RequestBody.Content["application/json"].Schema
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		description, _ := body.Properties[name]["description"].(string)
		a := argument{name: name, in: inBody, sent: name, required: slices.Contains(body.Required, name), schema: described(body.Properties[name], description, nil)}
		if slices.ContainsFunc(list, func(other argument) bool { return other.name == name }) {
			a.name = ownPrefix + name
		}
		list = append(list, a)
	}
	if t.reads() && !slices.ContainsFunc(list, func(a argument) bool { return a.name == limitName }) {
		list = append(list, argument{name: fromName, in: inResult, schema: schema{
			"type": "integer", "minimum": 0, "description": "Position of the first byte to return, to get the rest of a result that was cut",
		}})
	}
	for i := range list {
		list[i].kind, _ = list[i].schema["type"].(string)
	}
	return list, nil
}

// inQueryToo reports whether a parameter of the path can also be sent in the query, which can
// contain every value.
func (t tool) inQueryToo(name string) bool {
	return slices.ContainsFunc(t.Parameters, func(p parameter) bool { return p.In == string(inQuery) && p.Name == name })
}

// described returns the schema of an argument: the supported keys of the API's schema, the
// description and the example.
func described(of schema, description string, example any) schema {
	s := schema{}
	for _, key := range []string{"type", "enum", "format", "minimum", "maximum", "default"} {
		if value, some := of[key]; some {
			s[key] = value
		}
	}
	if _, typed := s["type"]; !typed {
		s["type"] = "string"
	}
	if description != "" {
		s["description"] = description
	}
	if example != nil {
		s["examples"] = []any{example}
	}
	return s
}

// call is a tool's request.
type call struct {
	target string // path and query
	body   []byte // nil for a read
	from   int64  // first byte of the result to return
	limit  int    // number of rows of a list; 0 if the tool returns no list
}

// call returns the request for a client's arguments. Its errors are for the client.
func (t tool) call(given json.RawMessage) (call, error) {
	values, err := readArguments(given)
	if err != nil {
		return call{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(t.arguments, func(a argument) bool { return a.name == name }) {
			return call{}, fmt.Errorf("unknown argument %q; allowed: %s", cutName(name), t.allowed())
		}
	}
	path, query, body := strings.ReplaceAll(t.path, "{"+actionName+"}", t.action), url.Values{}, map[string]any{}
	var c call
	if t.pages() {
		c.limit = rowsWithoutLimit
	}
	for _, a := range t.arguments {
		text, err := a.text(values[a.name])
		switch {
		case err != nil:
			return call{}, err
		case values[a.name] == nil && a.required:
			return call{}, fmt.Errorf("the argument %q is missing", a.name)
		case values[a.name] == nil:
		case a.in == inPath:
			if strings.Trim(text, ".") == "" { // a path cannot contain such a value
				return call{}, fmt.Errorf("%q cannot be %q", a.name, cutName(text))
			}
			path = strings.ReplaceAll(path, "{"+a.sent+"}", url.PathEscape(text))
		case a.in == inQuery:
			query.Set(a.sent, text)
		case a.in == inBody:
			body[a.sent] = values[a.name]
		case a.in == inResult:
			c.from, _ = strconv.ParseInt(text, 10, 64)
		}
		if a.name == limitName && text != "" {
			c.limit, _ = strconv.Atoi(text)
		}
	}
	if c.limit > 0 {
		query.Set(limitName, strconv.Itoa(c.limit))
	}
	for _, p := range t.Parameters { // in the path, - stands for a value that is in the query
		path = strings.ReplaceAll(path, "{"+p.Name+"}", "-")
	}
	if t.method == http.MethodPost {
		if c.body, err = json.Marshal(body); err != nil {
			return call{}, err
		}
	}
	c.target = path
	if len(query) > 0 {
		c.target += "?" + query.Encode()
	}
	return c, nil
}

func readArguments(given json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(given)) == 0 {
		return nil, nil
	}
	var values map[string]any
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber() // an event's number may have more digits than a float can hold
	if err := decoder.Decode(&values); err != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the arguments must be one JSON object")
	}
	return values, nil
}

// text returns a value in the form in which it is sent in a path or a query. It returns an error if
// the value does not have the argument's type.
func (a argument) text(value any) (string, error) {
	fits, text := false, ""
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		fits, text = a.kind == "string", value
	case bool:
		fits, text = a.kind == "boolean", strconv.FormatBool(value)
	case json.Number:
		n, err := value.Int64()
		fits, text = a.kind == "integer" && err == nil && (a.in != inResult || n >= 0), value.String()
	}
	if !fits {
		return "", fmt.Errorf("%q must be %s", a.name, kinds[a.kind])
	}
	return text, nil
}

var kinds = map[string]string{"string": "a string", "boolean": "true or false", "integer": "a whole number"}

// allowed lists the names of the tool's arguments, or returns "none".
func (t tool) allowed() string {
	if len(t.arguments) == 0 {
		return "none"
	}
	names := make([]string, len(t.arguments))
	for i, a := range t.arguments {
		names[i] = a.name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
