package signin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

const (
	// claimsName is the variable with all claims, for claims whose names are not valid in CEL.
	claimsName = "claims"
	// conditionCost is the maximum cost of one evaluation, in CEL units.
	conditionCost = 100_000
	// maxCondition is the maximum length of a condition, in code points.
	maxCondition = 10_000
	// maxNesting is the maximum nesting of a condition: the time that CEL takes to check types
	// grows with the third power of the depth.
	maxNesting = 32
)

// Conditions assign roles: CEL expressions over a user's claims, such as
// groups.exists(g, g == "oncall"). A role without a condition is never assigned.
type Conditions map[Role]string

// compiled contains the conditions in compiled form, strongest role first.
type compiled []condition

// condition is the compiled condition for a role.
type condition struct {
	role    Role
	program cel.Program
}

// Compile parses and checks the condition for a role, and returns its program.
func (c Conditions) Compile(role Role) (cel.Program, error) {
	env, err := cel.NewEnv(
		cel.Variable(claimsName, cel.MapType(cel.StringType, cel.DynType)),
		cel.ParserExpressionSizeLimit(maxCondition), cel.ParserRecursionLimit(maxNesting), cel.CrossTypeNumericComparisons(true),
	)
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	parsed, issues := env.Parse(c[role])
	if issues.Err() != nil {
		return nil, oneLine(issues)
	}
	// The provider decides which claims exist, so every name in the condition is declared as a
	// claim.
	var names []cel.EnvOption
	for _, name := range namesIn(parsed) {
		names = append(names, cel.Variable(name, cel.DynType))
	}
	if env, err = env.Extend(names...); err != nil {
		return nil, fmt.Errorf("declare claims: %w", err)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, oneLine(issues)
	}
	if yields := checked.OutputType(); !yields.IsExactType(cel.BoolType) && !yields.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("yields %s; it must be bool", cel.FormatCELType(yields))
	}
	program, err := env.Program(checked, cel.CostLimit(conditionCost))
	if err != nil {
		return nil, fmt.Errorf("plan condition: %w", err)
	}
	return program, nil
}

// compile compiles all conditions, strongest role first.
func (c Conditions) compile() (list compiled, err error) {
	for _, role := range slices.Backward(Roles()) {
		if c[role] == "" {
			continue
		}
		program, err := c.Compile(role)
		if err != nil {
			return nil, fmt.Errorf("condition of the role %s: %w", role, err)
		}
		list = append(list, condition{role, program})
	}
	if len(list) == 0 {
		return nil, errors.New("no role has a condition, so no user could sign in")
	}
	return list, nil
}

// text returns the text of all conditions, for the login basis.
func (c Conditions) text() string {
	var parts []string
	for _, role := range Roles() {
		parts = append(parts, c[role])
	}
	return strings.Join(parts, "\x00")
}

// roleOf returns the strongest role whose condition is true, or "" if there is none. A condition
// that cannot be evaluated, for example because a claim is missing, counts as false.
func (list compiled) roleOf(claims map[string]any) Role {
	scope := make(map[string]any, len(claims)+1)
	maps.Copy(scope, claims)
	scope[claimsName] = claims
	for _, one := range list {
		if value, _, err := one.program.Eval(scope); err == nil && value == types.True {
			return one.role
		}
	}
	return ""
}

// namesIn returns the names that an expression uses, except claimsName and the names of types.
func namesIn(parsed *cel.Ast) (names []string) {
	known := []string{claimsName, "bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp", "type", "uint"}
	celast.PostOrderVisit(parsed.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.IdentKind && !slices.Contains(known, e.AsIdent()) && !slices.Contains(names, e.AsIdent()) {
			names = append(names, e.AsIdent())
		}
	}))
	return names
}

// oneLine returns the first issue as a one-line error.
func oneLine(issues *cel.Issues) error {
	first := issues.Errors()[0]
	if strings.Contains(first.Message, "recursion") {
		return fmt.Errorf("is nested too deeply: at most %d levels are allowed, counting consecutive operators, fields and calls", maxNesting)
	}
	message, _, _ := strings.Cut(first.Message, " expecting {") // followed by a list of all CEL tokens
	return fmt.Errorf("%s (line %d, column %d)", message, first.Location.Line(), first.Location.Column()+1)
}
