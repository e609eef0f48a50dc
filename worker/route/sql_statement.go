package route

import (
	"fmt"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// SQLStatement runs a statement of an sql destination.
type SQLStatement struct {
	// Name of one of the destination's statements. Defaults to the destination's only statement.
	Statement string `yaml:"statement,omitempty"`
	// CEL expressions of any type for the parameters $1, $2 and so on. null becomes NULL, a list or
	// a map becomes JSON, and every other value becomes its text.
	Params []string `yaml:"params,omitempty"`
}

func (s *SQLStatement) validate() error {
	var c option.Check
	for i, text := range s.Params {
		if text == "" {
			c.Failf(fmt.Sprintf("params[%d]", i), nil, "needs an expression")
		}
	}
	return c.Err()
}

// sqlRequest is a compiled SQLStatement.
type sqlRequest struct {
	statement string
	params    []*expression
}

func compileSQL(env *cel.Env, s *SQLStatement, to destination.Sender, fail failFunc) *sqlRequest {
	compiled := &sqlRequest{statement: s.Statement}
	if checker, ok := to.(destination.StatementChecker); ok {
		name, err := checker.CheckStatement(s.Statement, len(s.Params))
		if err != nil {
			fail("sql.statement", s.Statement, err)
		}
		compiled.statement = name
	}
	for i, text := range s.Params {
		field := "sql.params[" + strconv.Itoa(i) + "]"
		if text == "" {
			continue // already reported as a fault
		}
		e, err := compileExpression(env, text, wantAny)
		if err != nil {
			fail(field, text, err)
		}
		compiled.params = append(compiled.params, e)
	}
	return compiled
}

func (s *sqlRequest) build(scope *eventScope) (ledger.Request, error) {
	call := destination.Statement{Name: s.statement, Params: make([]*string, len(s.params))}
	for i, param := range s.params {
		value, err := param.eval(scope)
		if err == nil {
			call.Params[i], err = sqlText(value)
		}
		if err != nil {
			return ledger.Request{}, fmt.Errorf("sql.params[%d]: %w", i, err)
		}
	}
	body, err := call.Encode()
	if err != nil {
		return ledger.Request{}, fmt.Errorf("sql: %w", err)
	}
	return ledger.Request{ContentType: destination.SQLContentType, Body: body}, nil
}

// sqlText returns a value in the text form that Postgres reads, or nil for NULL.
func sqlText(value ref.Val) (*string, error) {
	if optional, ok := value.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, nil //nolint:nilnil // nil is NULL
		}
		value = optional.GetValue()
	}
	if _, null := value.(types.Null); null {
		return nil, nil //nolint:nilnil // nil is NULL
	}
	if text, ok := scalarText(value); ok {
		return &text, nil
	}
	encoded, err := encodeJSON(value)
	if err != nil {
		return nil, err
	}
	text := string(encoded)
	switch value.(type) {
	case types.Timestamp, types.Bytes, types.Duration:
		text = text[1 : len(text)-1] // without JSON quotes: the content has no escapes
	}
	return &text, nil
}
