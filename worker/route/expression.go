package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

const (
	// costLimit is the maximum cost of one evaluation, in CEL's units: about one for each step and
	// for each ten characters that a function reads.
	costLimit = 1_000_000
	// evalTimeout is the maximum time for one evaluation, not counting the time to parse the body.
	// CEL checks it every interruptEvery steps of a loop.
	evalTimeout    = 250 * time.Millisecond
	interruptEvery = 100
	// maxExpression is the maximum length of one expression, in code points.
	maxExpression = 10_000
	// maxNesting is the maximum nesting of lists, maps, arguments and macros. CEL's time to check
	// types grows with the cube of the depth: 200 levels take seconds.
	maxNesting = 32
	// maxChain is the maximum number of consecutive operators, fields and method calls. It is CEL's
	// own default: the time to compile a chain is proportional to its length.
	maxChain = 250
)

// expressionEnvs are the environments of expressions, by the time at which the expressions are
// evaluated.
type expressionEnvs struct {
	dispatch *cel.Env // with event, body and headers
	render   *cel.Env // also with current
}

// errTooLong is returned when an evaluation exceeds its time limit. The cause is the machine and
// not the event, so another attempt may succeed.
var errTooLong = fmt.Errorf("was not evaluated within %s", evalTimeout)

// newExpressionEnvs declares the variables and functions of expressions. The functions are
// Hooklatch's own and CEL's, including optional types and the extensions strings, lists, math,
// sets and encoders.
func newExpressionEnvs() (expressionEnvs, error) {
	dispatch, err := cel.NewEnv(append(ownFunctions(),
		ext.NativeTypes(eventViewType, ext.ParseStructTag("json")),
		cel.Variable("event", cel.ObjectType(eventViewType.Elem().String())),
		cel.Variable("body", cel.DynType),
		cel.Variable("headers", cel.MapType(cel.StringType, cel.StringType)),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxChain),
		ext.Strings(), ext.Lists(), ext.Math(), ext.Sets(), ext.Encoders(),
		cel.CostModel(encoderCosts()...),
	)...)
	if err != nil {
		return expressionEnvs{}, fmt.Errorf("make CEL environment: %w", err)
	}
	render, err := dispatch.Extend(cel.Variable("current", cel.DynType))
	if err != nil {
		return expressionEnvs{}, fmt.Errorf("make CEL environment: %w", err)
	}
	return expressionEnvs{dispatch: dispatch, render: render}, nil
}

// typed returns the environments with stricter limits, for texts that users type.
func (e expressionEnvs) typed() (expressionEnvs, error) {
	limits := []cel.EnvOption{cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxTyped)}
	dispatch, err := e.dispatch.Extend(limits...)
	if err != nil {
		return expressionEnvs{}, fmt.Errorf("make CEL environment: %w", err)
	}
	render, err := e.render.Extend(limits...)
	if err != nil {
		return expressionEnvs{}, fmt.Errorf("make CEL environment: %w", err)
	}
	return expressionEnvs{dispatch: dispatch, render: render}, nil
}

// encoderCosts returns a fixed cost for functions whose cost CEL cannot estimate: with CEL's
// default, one call would exceed every limit. Instead, the meter is charged by the argument's size
// before each call.
func encoderCosts() []cost.OverloadModel {
	var models []cost.OverloadModel
	for _, overload := range []string{"json_encode_dyn", "json_parse_string", "json_parse_string_type",
		"yaml_encode_dyn", "yaml_parse_string", "yaml_parse_string_type"} {
		models = append(models, cost.Overload(overload, cost.EvalCost(cost.Const(1))))
	}
	return models
}

// wanted is the set of result types that an expression may have. body and current have the type
// dyn, so dyn is always allowed, and the type is checked again at run time.
type wanted struct {
	name  string // for error messages
	types []*cel.Type
}

var (
	wantBool    = wanted{name: "bool", types: []*cel.Type{cel.BoolType}}
	wantKey     = wanted{name: "string or int", types: []*cel.Type{cel.StringType, cel.IntType, cel.UintType}}
	wantText    = wanted{name: "string", types: []*cel.Type{cel.StringType, cel.IntType, cel.UintType, cel.BoolType}}
	wantStrings = wanted{name: "string or list of strings", types: []*cel.Type{cel.StringType, cel.ListType(cel.StringType), cel.ListType(cel.DynType)}}
	wantAny     = wanted{name: "any value"}
)

func (w wanted) allows(t *cel.Type) bool {
	if len(w.types) == 0 || t.IsExactType(cel.DynType) {
		return true
	}
	return slices.ContainsFunc(w.types, t.IsExactType)
}

// expression is a compiled CEL expression.
type expression struct {
	program  cel.Program
	text     string
	usesBody bool
}

// compileExpression compiles an expression. The type of its result must be one that want allows.
// The error has one line for each fault.
func compileExpression(env *cel.Env, text string, want wanted) (*expression, error) {
	ast, err := checkExpression(env, text, want)
	if err != nil {
		return nil, err
	}
	return newExpression(env, text, ast)
}

// newExpression plans an expression whose types were checked.
func newExpression(env *cel.Env, text string, ast *celast.AST) (*expression, error) {
	program, err := planExpression(env, ast)
	if err != nil {
		return nil, err
	}
	usesBody := false
	celast.PostOrderVisit(ast.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		usesBody = usesBody || e.Kind() == celast.IdentKind && e.AsIdent() == "body"
	}))
	return &expression{program: program, text: text, usesBody: usesBody}, nil
}

// checkExpression parses text, rejects nesting that is too deep, and checks the types.
func checkExpression(env *cel.Env, text string, want wanted) (*celast.AST, error) {
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, oneLineEach(env, text, issues)
	}
	if nesting(parsed.NativeRep().Expr()) > maxNesting {
		return nil, errTooDeep
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, oneLineEach(env, text, issues)
	}
	if !want.allows(checked.OutputType()) {
		return nil, fmt.Errorf("yields %s; it must be %s", cel.FormatCELType(checked.OutputType()), want.name)
	}
	return checked.NativeRep(), nil
}

// oneLineEach returns the faults of an expression, each on one line, with hints.
func oneLineEach(env *cel.Env, text string, issues *cel.Issues) error {
	var errs []error
	for _, e := range issues.Errors() {
		if isRecursionError(e.Message) {
			return errTooDeep
		}
		message, _, _ := strings.Cut(e.Message, " expecting {") // CEL appends a list of all its tokens
		if message += nameHint(env, text, message); e.Location.Line() > 0 {
			message = fmt.Sprintf("%s (line %d, column %d)", message, e.Location.Line(), e.Location.Column()+1)
		}
		errs = append(errs, errors.New(message))
	}
	if hint := spellingHint(text); hint != "" {
		last := len(errs) - 1
		errs[last] = fmt.Errorf("%w; %s", errs[last], hint)
	}
	return errors.Join(errs...)
}

// planExpression returns a program whose evaluation is bounded.
func planExpression(env *cel.Env, ast *celast.AST) (cel.Program, error) {
	guard, err := guardCalls(env)
	if err != nil {
		return nil, err
	}
	program, err := env.PlanProgram(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(costLimit),
		cel.CustomDecoratorV2(guard), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil, fmt.Errorf("plan expression: %w", err)
	}
	return program, nil
}

// eval evaluates the expression. It fails with errTooLong, or with the cause of the scope's context
// if the context ended the evaluation. Any other error is caused by the event, and contains no
// event values.
func (e *expression) eval(view *eventScope) (ref.Val, error) {
	if e.usesBody {
		if err := view.loadBody(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(view.ctx, cmp.Or(view.timeout, evalTimeout), errTooLong)
	defer cancel()
	view.meter = meter{left: maxWork}
	value, _, err := e.program.ContextEval(ctx, view)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, withoutValues(err, e.text)
	}
	return value, nil
}

// isInterrupted reports whether evalTimeout or the context ended an evaluation.
func isInterrupted(err error) bool {
	return errors.Is(err, errTooLong) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (e *expression) evalBool(view *eventScope) (bool, error) {
	value, err := e.eval(view)
	if err != nil {
		return false, err
	}
	b, ok := value.(types.Bool)
	if !ok {
		return false, typeError(value, wantBool)
	}
	return bool(b), nil
}

// evalKey returns the value as a key. It rejects bools, and doubles: two different large numbers
// may become the same double, and so the same key.
func (e *expression) evalKey(view *eventScope) (string, error) {
	value, err := e.eval(view)
	if err != nil {
		return "", err
	}
	if _, ok := value.(types.Bool); ok {
		return "", typeError(value, wantKey)
	}
	key, ok := scalarText(value)
	if !ok {
		return "", typeError(value, wantKey)
	}
	return key, nil
}

func (e *expression) evalText(view *eventScope) (string, error) {
	value, err := e.eval(view)
	if err != nil {
		return "", err
	}
	text, ok := scalarText(value)
	if !ok {
		return "", typeError(value, wantText)
	}
	return text, nil
}

func scalarText(value ref.Val) (string, bool) {
	switch v := value.(type) {
	case types.String:
		return string(v), true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), true
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), true
	case types.Bool:
		return strconv.FormatBool(bool(v)), true
	}
	return "", false
}

func typeError(got ref.Val, want wanted) error {
	return fmt.Errorf("yields %s; it must be %s", got.Type().TypeName(), want.name)
}

// eventView is the value of the variable event in expressions. Templates read the same fields from
// a map: see templateData.
type eventView struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Source     string    `json:"source"`
	Provider   string    `json:"provider"`
	OccurredAt time.Time `json:"occurred_at"` // equals ReceivedAt if the provider does not report the time
	ReceivedAt time.Time `json:"received_at"`
	Origin     string    `json:"origin"`  // webhook, or backfill if fetched from the provider's list
	Altered    string    `json:"altered"` // known differences from the webhook; empty if there are none
	// Age is the time from the event's occurrence to its receipt; 0 if the provider does not report
	// the occurrence.
	Age time.Duration `json:"age"`
}

// MarshalJSON implements json.Marshaler. Durations are seconds, as text, like all durations in
// rendered JSON.
func (v *eventView) MarshalJSON() ([]byte, error) {
	type fields eventView // a type without the method MarshalJSON
	return plainjson.Marshal(struct {
		*fields

		Age string `json:"age"`
	}{(*fields)(v), fmt.Sprint(types.Duration{Duration: v.Age}.ConvertToType(types.StringType).Value())})
}
